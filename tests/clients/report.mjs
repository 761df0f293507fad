// Checks that are run and reported one by one: `ok NAME` or `FAIL NAME: reason`, and a sum at the end.

let passed = 0;
let failed = 0;
const strays = [];

process.on("unhandledRejection", (reason) => strays.push(reason));

/**
 * Runs one check and prints the remark it returns, if any. A rejection that nobody handled while it ran
 * fails it too.
 */
export async function check(name, run) {
  try {
    const remark = await run();
    if (strays.length > 0) throw new Error(`unhandled rejection: ${describe(strays[0])}`);
    passed += 1;
    say(`ok ${name}${remark ? ` (${remark})` : ""}`);
  } catch (error) {
    failed += 1;
    say(`FAIL ${name}: ${describe(error)}`);
  } finally {
    strays.length = 0;
  }
}

/** Prints the sum and exits, whatever a failed check has left open. */
export function finish() {
  say(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

/** The promise, or a rejection that says what was waited for. */
export async function within(milliseconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A line on standard output, past the console, which checks may have taken over. */
export function say(line) {
  process.stdout.write(`${line}\n`);
}

function describe(error) {
  return String(error?.stack ?? error).split("\n").slice(0, 12).join("\n    ");
}
