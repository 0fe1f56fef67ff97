/// <reference path="./wasi-io-error.d.ts" />
/// <reference path="./wasi-io-poll.d.ts" />
declare module 'wasi:io/streams@0.2.0' {
  export type Error = import('wasi:io/error@0.2.0').Error;
  export type Pollable = import('wasi:io/poll@0.2.0').Pollable;
  export type StreamError = StreamErrorLastOperationFailed | StreamErrorClosed;
  export interface StreamErrorLastOperationFailed {
    tag: 'last-operation-failed',
    val: Error,
  }
  export interface StreamErrorClosed {
    tag: 'closed',
  }
  
  export class InputStream implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * What is there, at most `len` bytes, without waiting.
    */
    read(len: bigint): Uint8Array;
    subscribe(): Pollable;
    [Symbol.dispose](): void;
  }
  
  export class OutputStream implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Writes at most 4096 bytes and waits until they are handed over.
    */
    blockingWriteAndFlush(contents: Uint8Array): void;
    [Symbol.dispose](): void;
  }
}
