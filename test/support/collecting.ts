import { collectedMemory } from './collected-memory.js';
import { COLLECT_SIGNAL, COLLECTED } from './held-memory-of.js';

// Imported before a program: it collects its garbage when it is asked, and prints what it holds then.
process.on(COLLECT_SIGNAL, () => {
  void collectedMemory().then((memory) => {
    process.stdout.write(`${JSON.stringify({ event: COLLECTED, ...memory })}\n`);
  });
});
