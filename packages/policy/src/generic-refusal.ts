/**
 * All that the owner of a hook reads about a refused address: no address, port, name or timing, so
 * that nobody maps the inside of the network by asking.
 */
export const GENERIC_REFUSAL =
  'Ghost does not send webhooks to this address. Only public addresses, and those that the operator allows, can receive them.';
