// A DNS server in a process of its own: names that begin with `dead` are never answered, all others lead to loopback.
import { startDnsServer } from '../dns-server.js';

const server = await startDnsServer(({ name, type }) => {
  if (name.startsWith('dead')) return 'silent';
  return type === 'A' ? ['127.0.0.1'] : [];
});
console.log(`dns on ${server.address}`);
process.on('SIGTERM', () => process.exit(0));
