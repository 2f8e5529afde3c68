CREATE TABLE "delivery_relay_turn" (
	"id" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"next_at" timestamp with time zone NOT NULL,
	CONSTRAINT "delivery_relay_turn_one_row" CHECK ("delivery_relay_turn"."id")
);
