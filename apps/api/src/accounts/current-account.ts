import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** Who asks. */
export interface Account {
  id: number;
  login: string;
  name: string;
  isAdmin: boolean;
}

const accounts = new WeakMap<FastifyRequest, Account>();

export function rememberAccount(request: FastifyRequest, account: Account): void {
  accounts.set(request, account);
}

/** The account that the guard found; undefined on routes that ask for none. */
export function accountOf(request: FastifyRequest): Account | undefined {
  return accounts.get(request);
}

/** Injects the {@link Account} into a route behind the token guard. */
export const CurrentAccount = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const account = accountOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (account === undefined)
    throw new Error('A route asks for the account without the token guard');
  return account;
});
