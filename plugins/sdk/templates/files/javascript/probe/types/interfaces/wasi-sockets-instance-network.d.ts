/// <reference path="./wasi-sockets-network.d.ts" />
declare module 'wasi:sockets/instance-network@0.2.0' {
  export function instanceNetwork(): Network;
  export type Network = import('wasi:sockets/network@0.2.0').Network;
}
