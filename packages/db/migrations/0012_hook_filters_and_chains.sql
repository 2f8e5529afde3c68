ALTER TABLE "fanout_skip" ADD COLUMN "detail" text;--> statement-breakpoint
ALTER TABLE "hook" ADD COLUMN "filters" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "outbox_event" ADD COLUMN "hook_chain" bigint[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "hook" ADD CONSTRAINT "hook_filters_bounded" CHECK (case when jsonb_typeof("hook"."filters") = 'array' then jsonb_array_length("hook"."filters") <= 10 else false end);--> statement-breakpoint
ALTER TABLE "outbox_event" ADD CONSTRAINT "outbox_event_chain_bounded" CHECK (cardinality("outbox_event"."hook_chain") <= 10);