/// <reference path="./wasi-io-poll.d.ts" />
/// <reference path="./wasi-io-streams.d.ts" />
/// <reference path="./wasi-sockets-network.d.ts" />
declare module 'wasi:sockets/tcp@0.2.0' {
  export type Pollable = import('wasi:io/poll@0.2.0').Pollable;
  export type InputStream = import('wasi:io/streams@0.2.0').InputStream;
  export type OutputStream = import('wasi:io/streams@0.2.0').OutputStream;
  export type Network = import('wasi:sockets/network@0.2.0').Network;
  export type ErrorCode = import('wasi:sockets/network@0.2.0').ErrorCode;
  export type IpSocketAddress = import('wasi:sockets/network@0.2.0').IpSocketAddress;
  
  export class TcpSocket implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    startConnect(network: Network, remoteAddress: IpSocketAddress): void;
    /**
    * `would-block` while the connection is being made.
    */
    finishConnect(): [InputStream, OutputStream];
    subscribe(): Pollable;
    [Symbol.dispose](): void;
  }
}
