CREATE TABLE "audit_entry" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_entry_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"action" text NOT NULL,
	"actor_id" bigint,
	"actor" text NOT NULL,
	"token_id" bigint,
	"repository_id" bigint,
	"repository" text,
	"subject_id" bigint,
	"subject" text,
	"detail" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "comment_counter" (
	"thread_id" bigint PRIMARY KEY NOT NULL,
	"last" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "email_address" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "email_address_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"address" text NOT NULL,
	"is_primary" boolean DEFAULT false NOT NULL,
	"verified_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "email_address_length" CHECK (length("email_address"."address") between 3 and 254 and strpos("email_address"."address", '@') > 1)
);
--> statement-breakpoint
ALTER TABLE "thread_subscription" DROP CONSTRAINT "thread_subscription_reason_known";--> statement-breakpoint
DROP INDEX "comment_thread";--> statement-breakpoint
-- Tokens that were made before scopes existed keep what they could do.
ALTER TABLE "api_token" ADD COLUMN "scopes" text[] NOT NULL DEFAULT '{repo,hooks,admin}';--> statement-breakpoint
ALTER TABLE "api_token" ALTER COLUMN "scopes" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "api_token" ADD COLUMN "expires_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "comment" ADD COLUMN "number" bigint;--> statement-breakpoint
UPDATE "comment" c SET "number" = n."number"
FROM (SELECT id, row_number() OVER (PARTITION BY thread_id ORDER BY id) AS "number" FROM "comment") n WHERE n.id = c.id;--> statement-breakpoint
ALTER TABLE "comment" ALTER COLUMN "number" SET NOT NULL;--> statement-breakpoint
INSERT INTO "comment_counter" ("thread_id", "last")
SELECT t.id, coalesce((SELECT max(c."number") FROM "comment" c WHERE c.thread_id = t.id), 0) FROM "thread" t;--> statement-breakpoint
ALTER TABLE "outbox_event" ADD COLUMN "comment_id" bigint;--> statement-breakpoint
UPDATE "outbox_event" SET "comment_id" = ("payload" #>> '{comment,id}')::bigint
WHERE "type" IN ('comment.created', 'comment.edited', 'comment.deleted');--> statement-breakpoint
ALTER TABLE "repository" ADD COLUMN "updated_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
UPDATE "repository" SET "updated_at" = "created_at";--> statement-breakpoint
ALTER TABLE "thread" ADD COLUMN "updated_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "thread" ADD COLUMN "closed_at" timestamp with time zone;--> statement-breakpoint
UPDATE "thread" SET "updated_at" = "created_at", "closed_at" = CASE WHEN "state" = 'closed' THEN now() END;--> statement-breakpoint
ALTER TABLE "comment_counter" ADD CONSTRAINT "comment_counter_thread_id_thread_id_fk" FOREIGN KEY ("thread_id") REFERENCES "public"."thread"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "email_address" ADD CONSTRAINT "email_address_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_token_live" ON "api_token" USING btree ("account_id","id") WHERE "api_token"."revoked_at" is null;--> statement-breakpoint
CREATE INDEX "audit_entry_repository" ON "audit_entry" USING btree (lower("repository"),"id") WHERE "audit_entry"."repository" is not null;--> statement-breakpoint
CREATE INDEX "audit_entry_subject" ON "audit_entry" USING btree (lower("subject"),"id") WHERE "audit_entry"."subject" is not null;--> statement-breakpoint
CREATE INDEX "audit_entry_actor" ON "audit_entry" USING btree (lower("actor"),"id");--> statement-breakpoint
CREATE INDEX "audit_entry_verification_mails" ON "audit_entry" USING btree ("subject_id","at") WHERE "audit_entry"."action" = 'address.verification_sent';--> statement-breakpoint
CREATE INDEX "email_address_domain" ON "email_address" USING btree (lower(split_part("address", '@', 2)));--> statement-breakpoint
DROP INDEX "member_account";--> statement-breakpoint
DROP INDEX "watch_account";--> statement-breakpoint
CREATE INDEX "member_account_repository" ON "member" USING btree ("account_id","repository_id");--> statement-breakpoint
CREATE INDEX "member_permission" ON "member" USING btree ("repository_id","permission","account_id");--> statement-breakpoint
CREATE INDEX "repository_public" ON "repository" USING btree ("owner_id","id") WHERE not "repository"."private";--> statement-breakpoint
CREATE INDEX "repository_private" ON "repository" USING btree ("owner_id","id") WHERE "repository"."private";--> statement-breakpoint
CREATE INDEX "watch_account_repository" ON "watch" USING btree ("account_id","repository_id");--> statement-breakpoint
CREATE UNIQUE INDEX "email_address_account_unique" ON "email_address" USING btree ("account_id",lower("address"));--> statement-breakpoint
CREATE UNIQUE INDEX "email_address_one_primary" ON "email_address" USING btree ("account_id") WHERE "email_address"."is_primary";--> statement-breakpoint
CREATE INDEX "outbox_event_comment" ON "outbox_event" USING btree ("comment_id") WHERE "outbox_event"."comment_id" is not null;--> statement-breakpoint
CREATE INDEX "thread_state" ON "thread" USING btree ("repository_id","state","number");--> statement-breakpoint
INSERT INTO "email_address" ("account_id", "address", "is_primary", "verified_at", "created_at")
SELECT "id", "email", true, "email_verified_at", "created_at" FROM "account";--> statement-breakpoint
ALTER TABLE "account" DROP COLUMN "email";--> statement-breakpoint
ALTER TABLE "account" DROP COLUMN "email_verified_at";--> statement-breakpoint
ALTER TABLE "comment" ADD CONSTRAINT "comment_number_unique" UNIQUE("thread_id","number");--> statement-breakpoint
ALTER TABLE "api_token" ADD CONSTRAINT "api_token_scopes_known" CHECK (cardinality("api_token"."scopes") > 0 and "api_token"."scopes" <@ array['repo', 'hooks', 'admin']);--> statement-breakpoint
ALTER TABLE "api_token" ADD CONSTRAINT "api_token_ends_after_start" CHECK ("api_token"."expires_at" is null or "api_token"."expires_at" > "api_token"."created_at");--> statement-breakpoint
ALTER TABLE "comment" ADD CONSTRAINT "comment_number_positive" CHECK ("comment"."number" > 0);--> statement-breakpoint
ALTER TABLE "thread_subscription" ADD CONSTRAINT "thread_subscription_reason_known" CHECK ("thread_subscription"."reason" in ('author', 'participant', 'mention', 'manual'));--> statement-breakpoint
ALTER TABLE "thread" ADD CONSTRAINT "thread_closed_iff_ended" CHECK (("thread"."state" = 'closed') = ("thread"."closed_at" is not null));--> statement-breakpoint

-- The one rule of access, for the routes and for fan-out: the owner may everything, a member what the
-- membership says, anybody (without an account too) reads what is public. Each argument is named once,
-- so that the planner writes it into the query instead of calling it for each row.
CREATE FUNCTION repository_permission(p_owner_id bigint, p_private boolean, p_member_permission text, p_account_id bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN p_owner_id = p_account_id THEN 'admin'
    ELSE coalesce(p_member_permission, CASE WHEN p_private THEN 'none' ELSE 'read' END) END
$$;
--> statement-breakpoint

-- What a thread and its repository are now, and what an account may do there. VOLATILE, so each call looks
-- for itself: it sees what was committed while the statement that calls it waited for a lock.
CREATE FUNCTION thread_now(p_thread_id bigint, p_account_id bigint) RETURNS json
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (
    SELECT json_build_object(
      'title', t.title, 'body', t.body, 'state', t.state, 'updated_at', t.updated_at, 'closed_at', t.closed_at,
      'private', r.private,
      'permission', repository_permission(r.owner_id, r.private, (
        SELECT m.permission FROM member m WHERE m.repository_id = r.id AND m.account_id = p_account_id), p_account_id))
    FROM thread t JOIN repository r ON r.id = t.repository_id WHERE t.id = p_thread_id);
END $$;
--> statement-breakpoint

-- A person asks for jobs again: same id, same bytes, a fresh budget. What was cancelled for lost access, an
-- address that is suppressed or verified meanwhile, a deleted comment or repository is final. Returns the jobs that are pending again.
CREATE OR REPLACE FUNCTION delivery_redeliver(p_ids uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM FROM delivery_lane l
  WHERE (l.lane, l.version) IN (SELECT j.lane, j.version FROM delivery_job j WHERE j.id = ANY (p_ids))
  ORDER BY l.lane, l.version
  FOR UPDATE OF l;
  RETURN QUERY
  WITH again AS (
    UPDATE delivery_job j
    SET status = 'pending', attempts = 0, abandoned = 0, redelivery = true, run_at = now(), expires_at = now() + interval '7 days',
      finished_at = NULL, lease_until = NULL, lease_no = j.lease_no + 1
    WHERE j.id = ANY (p_ids) AND j.status <> 'pending'
      AND NOT (j.status = 'cancelled' AND j.last_error IN ('access_lost', 'address_suppressed', 'address_verified', 'comment_deleted', 'repository_deleted'))
    RETURNING j.id, j.lane, j.version
  ), moved AS (
    UPDATE delivery_lane d SET next_at = least(d.next_at, now()), mark = least(d.mark, now())
    WHERE (d.lane, d.version) IN (SELECT a.lane, a.version FROM again a)
  )
  SELECT a.id FROM again a;
  PERFORM pg_notify('ghost_delivery', '');
END $$;
