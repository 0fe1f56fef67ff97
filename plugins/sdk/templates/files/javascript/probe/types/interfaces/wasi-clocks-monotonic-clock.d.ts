/// <reference path="./wasi-io-poll.d.ts" />
declare module 'wasi:clocks/monotonic-clock@0.2.0' {
  /**
   * Ready after this many nanoseconds.
   */
  export function subscribeDuration(when: Duration): Pollable;
  export type Pollable = import('wasi:io/poll@0.2.0').Pollable;
  export type Duration = bigint;
}
