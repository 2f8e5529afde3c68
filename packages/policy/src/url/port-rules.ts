import type { ParsedEntry } from '../parsed-entry.js';

/** Ports from..to, both included. One port alone (`from === to`) is meant as it stands. */
export type PortRange = { from: number; to: number };

const MAX_PORT = 65_535;

/** The web's own ports, and those that need no privilege to listen on. */
export const DEFAULT_PORTS: readonly PortRange[] = [
  { from: 80, to: 80 },
  { from: 443, to: 443 },
  { from: 1024, to: MAX_PORT },
];

/**
 * Services that speak no HTTP, or answer HTTP to anyone inside: a POST from here must not reach
 * them even at a public address. A range of GHOST_WEBHOOK_PORTS leaves them out; a port that is
 * named alone is meant.
 */
const INTERNAL_SERVICES: Record<string, readonly number[]> = {
  'SQL databases': [1433, 1521, 3306, 5432, 5433, 26257],
  'other stores': [5984, 6379, 6380, 9200, 9300, 11211, 27017, 27018, 27019, 28015, 28017, 50070],
  Cassandra: [7000, 7001, 7199, 9042, 9160],
  Neo4j: [7473, 7474, 7687],
  'brokers (MQTT, AMQP, Kafka, ActiveMQ)': [1883, 5671, 5672, 9092, 15672, 25672, 61616],
  'Docker and Swarm': [2375, 2376, 2377, 7946],
  'etcd, ZooKeeper, epmd': [2379, 2380, 2181, 4369],
  Kubernetes: [6443, 10248, 10249, 10250, 10255, 10256, 10257, 10259],
  'Consul, VXLAN, StatsD': [8125, 8300, 8301, 8302, 8472, 8500, 8600],
  'remote desks (RDP, VNC, X11, WinRM)': [3389, 5900, 5901, 5985, 5986, 6000],
  proxies: [1080, 3128],
  // With X11 and NFS those that browsers block (Fetch standard, "bad port"): a POST can be taken for their commands.
  'NFS, IRC': [2049, 6660, 6665, 6666, 6667, 6668, 6669, 6679, 6697],
  'telephony (SIP, H.323), PPTP': [1719, 1720, 1723, 5060, 5061],
  'lockd, Sieve, Apple SASL, scanners, Amanda': [3659, 4045, 4190, 6566, 10080],
};
const INTERNAL_PORTS: ReadonlySet<number> = new Set(Object.values(INTERNAL_SERVICES).flat());

/** Reads `port` or `from-to`. */
export function parsePortRange(entry: string): ParsedEntry<PortRange> {
  const [fromText = '', toText, ...more] = entry.split('-').map((part) => part.trim());
  const from = parsePort(fromText);
  const to = toText === undefined ? from : parsePort(toText);
  if (from === null || to === null || more.length > 0) {
    return { ok: false, message: 'is not a port from 1 to 65535, or two as in 8000-8999' };
  }
  if (from > to) return { ok: false, message: `runs backwards; write ${to}-${from}` };
  return { ok: true, value: { from, to } };
}

/** A decimal port from 1 to 65535, or null. */
export function parsePort(text: string): number | null {
  if (!/^[1-9][0-9]{0,4}$/.test(text)) return null;
  const port = Number(text);
  return port <= MAX_PORT ? port : null;
}

/** Whether the policy lets a webhook go to this port of a public address. */
export function isPortAllowed(ports: readonly PortRange[], port: number): boolean {
  return ports.some(
    ({ from, to }) => port >= from && port <= to && (from === to || !INTERNAL_PORTS.has(port)),
  );
}
