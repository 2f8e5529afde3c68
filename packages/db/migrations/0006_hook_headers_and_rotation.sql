ALTER TABLE "hook" ADD COLUMN "insecure_ssl" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "hook" ADD COLUMN "header_names" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "hook" ADD COLUMN "headers_ciphertext" text;--> statement-breakpoint
ALTER TABLE "hook" ADD COLUMN "secret_changed_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "hook" ADD COLUMN "old_secret_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "hook" ADD CONSTRAINT "hook_headers_sealed" CHECK (("hook"."headers_ciphertext" is null) = (cardinality("hook"."header_names") = 0));--> statement-breakpoint
ALTER TABLE "hook" ADD CONSTRAINT "hook_old_secret_ends_after_change" CHECK (("hook"."secret_changed_at" is null) = ("hook"."old_secret_until" is null) and ("hook"."old_secret_until" is null or "hook"."old_secret_until" >= "hook"."secret_changed_at"));