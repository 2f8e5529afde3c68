CREATE TABLE "mail_choice" (
	"account_id" bigint PRIMARY KEY NOT NULL,
	"watching" boolean DEFAULT true NOT NULL,
	"participating" boolean DEFAULT true NOT NULL,
	"own_actions" boolean DEFAULT false NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mention_mails" (
	"account_id" bigint PRIMARY KEY NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"mails" integer NOT NULL,
	CONSTRAINT "mention_mails_positive" CHECK ("mention_mails"."mails" >= 0)
);
--> statement-breakpoint
ALTER TABLE "mail_choice" ADD CONSTRAINT "mail_choice_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mention_mails" ADD CONSTRAINT "mention_mails_account_id_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."account"("id") ON DELETE cascade ON UPDATE no action;