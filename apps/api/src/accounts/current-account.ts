import type { ApiScope, HookChain } from '@ghost/db';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** A person, as others see one. */
export interface Person {
  id: number;
  login: string;
  name: string;
}

/** Who asks, by which token. */
export interface Account extends Person {
  isAdmin: boolean;
  token: { id: number; scopes: readonly ApiScope[]; expiresAt: Date | null };
  /** What led to this request, as far as it says so (`x-ghost-chain`); it goes on with each event. */
  cause?: HookChain | null;
}

const accounts = new WeakMap<FastifyRequest, Account>();

export function rememberAccount(request: FastifyRequest, account: Account): void {
  accounts.set(request, account);
}

/** The account that the guard found; undefined for somebody without a token. */
export function accountOf(request: FastifyRequest): Account | undefined {
  return accounts.get(request);
}

/** Injects the {@link Account} into a route for accounts. */
export const CurrentAccount = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const account = accountOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (account === undefined) throw new Error('A route for anyone asks for an account');
  return account;
});

/** Injects the {@link Account} into a route for anyone; null for somebody without a token. */
export const MaybeAccount = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    accountOf(context.switchToHttp().getRequest<FastifyRequest>()) ?? null,
);
