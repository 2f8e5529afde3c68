import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

// By References and In-Reply-To alone: mails with one subject are no proof of one thread.
const SCRIPT = `
$Mail::Thread::nosubject = 1;
my @mails = map { local $/; open(my $file, "<", $_) or die; Email::Simple->new(scalar <$file>) } glob("$ARGV[0]/*");
my $threader = Mail::Thread->new(@mails);
$threader->thread;
for my $root ($threader->rootset) {
  my $mails = 0;
  $root->iterate_down(sub { $mails++ if $_[0]->message });
  print "$mails\\n";
}`;

/**
 * The threads that mails fall into, by JWZ's algorithm as the Perl library Mail::Thread has it: how many mails each has.
 * @throws where that library is not installed
 */
export async function threadByJwz(mails: readonly Buffer[]): Promise<number[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ghost-threads-'));
  try {
    for (const [n, raw] of mails.entries()) await writeFile(path.join(folder, String(n)), raw);
    const modules = ['-MMail::Thread', '-MEmail::Simple'];
    const { stdout } = await promisify(execFile)('perl', [...modules, '-e', SCRIPT, folder]);
    return stdout.trim().split('\n').map(Number);
  } catch (cause) {
    const what =
      'Perl could not sort the mails into threads; it needs Mail::Thread (Debian: libmail-thread-perl)';
    throw new Error(what, { cause });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
