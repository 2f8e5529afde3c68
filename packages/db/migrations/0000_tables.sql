CREATE TABLE "account" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "account_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"login" text NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"email_verified_at" timestamp with time zone,
	"is_admin" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "account_login_form" CHECK ("account"."login" ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,38})$')
);
--> statement-breakpoint
CREATE TABLE "api_token" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "api_token_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"label" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "api_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "comment" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "comment_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"thread_id" bigint NOT NULL,
	"author_id" bigint NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "delivery_attempt" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "delivery_attempt_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" uuid NOT NULL,
	"lease_no" bigint NOT NULL,
	"hook_id" bigint,
	"number" smallint,
	"started_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone DEFAULT now() NOT NULL,
	"outcome" text NOT NULL,
	"reason" text,
	"message" text,
	"status" integer,
	"timings" jsonb,
	"request_head" jsonb,
	"response_head" jsonb,
	"body_excerpt" text,
	"next_run_at" timestamp with time zone,
	CONSTRAINT "delivery_attempt_pkey" PRIMARY KEY("id","finished_at"),
	CONSTRAINT "delivery_attempt_outcome_known" CHECK ("delivery_attempt"."outcome" in ('delivered', 'retry', 'dead', 'held', 'cancelled', 'relay_paused', 'abandoned'))
) PARTITION BY RANGE ("finished_at");
--> statement-breakpoint
CREATE TABLE "delivery_content" (
	"id" uuid PRIMARY KEY NOT NULL,
	"event_id" uuid,
	"kind" text NOT NULL,
	"body" text,
	"parts" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "delivery_content_event_kind_unique" UNIQUE("event_id","kind"),
	CONSTRAINT "delivery_content_fits_kind" CHECK (("delivery_content"."kind" = 'webhook' and "delivery_content"."body" is not null and "delivery_content"."parts" is null)
        or ("delivery_content"."kind" = 'email' and "delivery_content"."parts" is not null and "delivery_content"."body" is null))
);
--> statement-breakpoint
CREATE TABLE "delivery_job" (
	"id" uuid PRIMARY KEY NOT NULL,
	"run_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"lease_until" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	"lease_no" bigint DEFAULT 0 NOT NULL,
	"event_id" uuid,
	"content_id" uuid NOT NULL,
	"repository_id" bigint,
	"account_id" bigint,
	"hook_id" bigint,
	"version" smallint NOT NULL,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"tries" smallint DEFAULT 0 NOT NULL,
	"abandoned" smallint DEFAULT 0 NOT NULL,
	"redelivery" boolean DEFAULT false NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"kind" text NOT NULL,
	"lane" text NOT NULL,
	"idempotency_key" text NOT NULL,
	"own" jsonb NOT NULL,
	"last_error" text,
	CONSTRAINT "delivery_job_idempotency_key_unique" UNIQUE("idempotency_key"),
	CONSTRAINT "delivery_job_status_known" CHECK ("delivery_job"."status" in ('pending', 'delivered', 'dead', 'cancelled')),
	CONSTRAINT "delivery_job_kind_known" CHECK ("delivery_job"."kind" in ('email', 'webhook')),
	CONSTRAINT "delivery_job_lane_fits_kind" CHECK (("delivery_job"."kind" = 'webhook' and "delivery_job"."lane" like 'hook:%') or ("delivery_job"."kind" = 'email' and "delivery_job"."lane" like 'mail:%')),
	CONSTRAINT "delivery_job_webhook_names_hook" CHECK (("delivery_job"."kind" = 'webhook') = ("delivery_job"."hook_id" is not null)),
	CONSTRAINT "delivery_job_finished_iff_ended" CHECK (("delivery_job"."status" = 'pending') = ("delivery_job"."finished_at" is null)),
	CONSTRAINT "delivery_job_lease_only_pending" CHECK ("delivery_job"."status" = 'pending' or "delivery_job"."lease_until" is null),
	CONSTRAINT "delivery_job_counts_positive" CHECK ("delivery_job"."attempts" >= 0 and "delivery_job"."tries" >= 0 and "delivery_job"."abandoned" >= 0)
);
--> statement-breakpoint
CREATE TABLE "delivery_lane" (
	"lane" text NOT NULL,
	"version" smallint NOT NULL,
	"kind" text NOT NULL,
	"next_at" timestamp with time zone DEFAULT 'infinity' NOT NULL,
	"mark" timestamp with time zone DEFAULT '-infinity' NOT NULL,
	"leased_to" timestamp with time zone DEFAULT '-infinity' NOT NULL,
	"leased_to_id" uuid DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL,
	"full" boolean DEFAULT false NOT NULL,
	"slow" boolean DEFAULT false NOT NULL,
	"slots" smallint,
	"failures" smallint DEFAULT 0 NOT NULL,
	"last_success_at" timestamp with time zone,
	"not_before" timestamp with time zone,
	"held_reason" text,
	"held_at" timestamp with time zone,
	"owner_id" bigint,
	"host" text,
	CONSTRAINT "delivery_lane_pkey" PRIMARY KEY("lane","version"),
	CONSTRAINT "delivery_lane_kind_known" CHECK ("delivery_lane"."kind" in ('email', 'webhook')),
	CONSTRAINT "delivery_lane_slots_positive" CHECK ("delivery_lane"."slots" is null or "delivery_lane"."slots" > 0),
	CONSTRAINT "delivery_lane_held_has_time" CHECK (("delivery_lane"."held_reason" is null) = ("delivery_lane"."held_at" is null))
);
--> statement-breakpoint
CREATE TABLE "delivery_relay" (
	"id" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"paused_until" timestamp with time zone,
	"reason" text,
	"failures" smallint DEFAULT 0 NOT NULL,
	CONSTRAINT "delivery_relay_one_row" CHECK ("delivery_relay"."id"),
	CONSTRAINT "delivery_relay_pause_has_reason" CHECK ("delivery_relay"."paused_until" is null or "delivery_relay"."reason" is not null)
);
--> statement-breakpoint
CREATE TABLE "fanout_skip" (
	"event_id" uuid NOT NULL,
	"target_kind" text NOT NULL,
	"target_id" bigint NOT NULL,
	"reason" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "fanout_skip_pkey" PRIMARY KEY("event_id","target_kind","target_id")
);
--> statement-breakpoint
CREATE TABLE "hook_secret" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "hook_secret_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"hook_id" bigint NOT NULL,
	"ciphertext" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone,
	CONSTRAINT "hook_secret_ends_after_start" CHECK ("hook_secret"."expires_at" is null or "hook_secret"."expires_at" > "hook_secret"."created_at")
);
--> statement-breakpoint
CREATE TABLE "hook" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "hook_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"repository_id" bigint NOT NULL,
	"url" text NOT NULL,
	"events" text[] NOT NULL,
	"active" boolean DEFAULT true NOT NULL,
	"github_signature" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "hook_events_some" CHECK (cardinality("hook"."events") > 0)
);
--> statement-breakpoint
CREATE TABLE "mail_suppression" (
	"address" text PRIMARY KEY NOT NULL,
	"reason" text NOT NULL,
	"since" timestamp with time zone,
	"until" timestamp with time zone,
	"strikes" smallint DEFAULT 0 NOT NULL,
	"last_strike_on" date,
	CONSTRAINT "mail_suppression_lower_case" CHECK ("mail_suppression"."address" = lower("mail_suppression"."address"))
);
--> statement-breakpoint
CREATE TABLE "member" (
	"repository_id" bigint NOT NULL,
	"account_id" bigint NOT NULL,
	"permission" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "member_pkey" PRIMARY KEY("repository_id","account_id"),
	CONSTRAINT "member_permission_known" CHECK ("member"."permission" in ('read', 'write', 'admin'))
);
--> statement-breakpoint
CREATE TABLE "outbox_event" (
	"id" uuid PRIMARY KEY NOT NULL,
	"type" text NOT NULL,
	"version" smallint NOT NULL,
	"repository_id" bigint,
	"payload" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"processed_at" timestamp with time zone,
	CONSTRAINT "outbox_event_version_positive" CHECK ("outbox_event"."version" > 0)
);
--> statement-breakpoint
CREATE TABLE "outbox_progress" (
	"event_id" uuid NOT NULL,
	"consumer" text NOT NULL,
	"cursor" text,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"last_error" text,
	"run_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_until" timestamp with time zone,
	"lease_no" bigint DEFAULT 0 NOT NULL,
	"done_at" timestamp with time zone,
	"set_aside_at" timestamp with time zone,
	CONSTRAINT "outbox_progress_pkey" PRIMARY KEY("event_id","consumer"),
	CONSTRAINT "outbox_progress_one_end" CHECK ("outbox_progress"."done_at" is null or "outbox_progress"."set_aside_at" is null),
	CONSTRAINT "outbox_progress_ended_has_no_lease" CHECK (("outbox_progress"."done_at" is null and "outbox_progress"."set_aside_at" is null) or "outbox_progress"."lease_until" is null)
);
--> statement-breakpoint
CREATE TABLE "repository" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "repository_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"owner_id" bigint NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"private" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "repository_name_form" CHECK ("repository"."name" ~ '^[A-Za-z0-9._-]{1,100}$')
);
--> statement-breakpoint
CREATE TABLE "thread_counter" (
	"repository_id" bigint PRIMARY KEY NOT NULL,
	"last" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "thread_subscription" (
	"thread_id" bigint NOT NULL,
	"account_id" bigint NOT NULL,
	"reason" text NOT NULL,
	"muted" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "thread_subscription_pkey" PRIMARY KEY("thread_id","account_id"),
	CONSTRAINT "thread_subscription_reason_known" CHECK ("thread_subscription"."reason" in ('author', 'participant', 'manual'))
);
--> statement-breakpoint
CREATE TABLE "thread" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "thread_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"repository_id" bigint NOT NULL,
	"number" bigint NOT NULL,
	"author_id" bigint NOT NULL,
	"title" text NOT NULL,
	"body" text NOT NULL,
	"state" text DEFAULT 'open' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "thread_number_unique" UNIQUE("repository_id","number"),
	CONSTRAINT "thread_state_known" CHECK ("thread"."state" in ('open', 'closed'))
);
--> statement-breakpoint
CREATE TABLE "watch" (
	"repository_id" bigint NOT NULL,
	"account_id" bigint NOT NULL,
	"ignored" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "watch_pkey" PRIMARY KEY("repository_id","account_id")
);
--> statement-breakpoint
ALTER TABLE "api_token" ADD CONSTRAINT "api_token_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "comment" ADD CONSTRAINT "comment_thread_id_thread_id_fk" FOREIGN KEY ("thread_id") REFERENCES "public"."thread"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "comment" ADD CONSTRAINT "comment_author_id_account_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "delivery_content" ADD CONSTRAINT "delivery_content_event_id_outbox_event_id_fk" FOREIGN KEY ("event_id") REFERENCES "public"."outbox_event"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "delivery_job" ADD CONSTRAINT "delivery_job_event_id_outbox_event_id_fk" FOREIGN KEY ("event_id") REFERENCES "public"."outbox_event"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "delivery_job" ADD CONSTRAINT "delivery_job_content_id_delivery_content_id_fk" FOREIGN KEY ("content_id") REFERENCES "public"."delivery_content"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "fanout_skip" ADD CONSTRAINT "fanout_skip_event_id_outbox_event_id_fk" FOREIGN KEY ("event_id") REFERENCES "public"."outbox_event"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "hook_secret" ADD CONSTRAINT "hook_secret_hook_id_hook_id_fk" FOREIGN KEY ("hook_id") REFERENCES "public"."hook"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "hook" ADD CONSTRAINT "hook_repository_id_repository_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."repository"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "member" ADD CONSTRAINT "member_repository_id_repository_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."repository"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "member" ADD CONSTRAINT "member_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "outbox_progress" ADD CONSTRAINT "outbox_progress_event_id_outbox_event_id_fk" FOREIGN KEY ("event_id") REFERENCES "public"."outbox_event"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "repository" ADD CONSTRAINT "repository_owner_id_account_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "thread_counter" ADD CONSTRAINT "thread_counter_repository_id_repository_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."repository"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "thread_subscription" ADD CONSTRAINT "thread_subscription_thread_id_thread_id_fk" FOREIGN KEY ("thread_id") REFERENCES "public"."thread"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "thread_subscription" ADD CONSTRAINT "thread_subscription_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "thread" ADD CONSTRAINT "thread_repository_id_repository_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."repository"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "thread" ADD CONSTRAINT "thread_author_id_account_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "watch" ADD CONSTRAINT "watch_repository_id_repository_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."repository"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "watch" ADD CONSTRAINT "watch_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "account_login_unique" ON "account" USING btree (lower("login"));--> statement-breakpoint
CREATE INDEX "api_token_account" ON "api_token" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "comment_thread" ON "comment" USING btree ("thread_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "delivery_attempt_job_lease" ON "delivery_attempt" USING btree ("job_id","lease_no","finished_at");--> statement-breakpoint
CREATE INDEX "delivery_attempt_hook" ON "delivery_attempt" USING btree ("hook_id","id") WHERE "delivery_attempt"."hook_id" is not null;--> statement-breakpoint
CREATE INDEX "delivery_job_lane_pending" ON "delivery_job" USING btree ("lane","version","run_at","id") WHERE "delivery_job"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "delivery_job_account_pending" ON "delivery_job" USING btree ("repository_id","account_id") WHERE "delivery_job"."status" = 'pending' and "delivery_job"."account_id" is not null;--> statement-breakpoint
CREATE INDEX "delivery_job_event" ON "delivery_job" USING btree ("event_id");--> statement-breakpoint
CREATE INDEX "delivery_lane_due" ON "delivery_lane" USING btree ("kind","version","next_at") WHERE "delivery_lane"."next_at" < 'infinity';--> statement-breakpoint
CREATE INDEX "fanout_skip_target" ON "fanout_skip" USING btree ("target_kind","target_id","created_at");--> statement-breakpoint
CREATE INDEX "hook_secret_hook" ON "hook_secret" USING btree ("hook_id");--> statement-breakpoint
CREATE INDEX "hook_repository" ON "hook" USING btree ("repository_id","id");--> statement-breakpoint
CREATE INDEX "member_account" ON "member" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "outbox_event_unprocessed" ON "outbox_event" USING btree ("created_at") WHERE "outbox_event"."processed_at" is null;--> statement-breakpoint
CREATE INDEX "outbox_progress_due" ON "outbox_progress" USING btree ("run_at","event_id") WHERE "outbox_progress"."done_at" is null and "outbox_progress"."set_aside_at" is null;--> statement-breakpoint
CREATE INDEX "outbox_progress_set_aside" ON "outbox_progress" USING btree ("set_aside_at") WHERE "outbox_progress"."set_aside_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "repository_owner_name_unique" ON "repository" USING btree ("owner_id",lower("name"));--> statement-breakpoint
CREATE INDEX "thread_subscription_account" ON "thread_subscription" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "watch_account" ON "watch" USING btree ("account_id");