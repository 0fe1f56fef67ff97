/// <reference path="./interfaces/wasi-clocks-monotonic-clock.d.ts" />
/// <reference path="./interfaces/wasi-io-error.d.ts" />
/// <reference path="./interfaces/wasi-io-poll.d.ts" />
/// <reference path="./interfaces/wasi-io-streams.d.ts" />
/// <reference path="./interfaces/wasi-sockets-instance-network.d.ts" />
/// <reference path="./interfaces/wasi-sockets-network.d.ts" />
/// <reference path="./interfaces/wasi-sockets-tcp-create-socket.d.ts" />
/// <reference path="./interfaces/wasi-sockets-tcp.d.ts" />
/// <reference path="./interfaces/witlet-host-config.d.ts" />
/// <reference path="./interfaces/witlet-host-log.d.ts" />
/// <reference path="./interfaces/witlet-probe-prober.d.ts" />
/// <reference path="./interfaces/witlet-probe-types.d.ts" />
declare module 'local:plugin/plugin' {
  export type * as WasiClocksMonotonicClock020 from 'wasi:clocks/monotonic-clock@0.2.0'; // import wasi:clocks/monotonic-clock@0.2.0
  export type * as WasiIoError020 from 'wasi:io/error@0.2.0'; // import wasi:io/error@0.2.0
  export type * as WasiIoPoll020 from 'wasi:io/poll@0.2.0'; // import wasi:io/poll@0.2.0
  export type * as WasiIoStreams020 from 'wasi:io/streams@0.2.0'; // import wasi:io/streams@0.2.0
  export type * as WasiSocketsInstanceNetwork020 from 'wasi:sockets/instance-network@0.2.0'; // import wasi:sockets/instance-network@0.2.0
  export type * as WasiSocketsNetwork020 from 'wasi:sockets/network@0.2.0'; // import wasi:sockets/network@0.2.0
  export type * as WasiSocketsTcpCreateSocket020 from 'wasi:sockets/tcp-create-socket@0.2.0'; // import wasi:sockets/tcp-create-socket@0.2.0
  export type * as WasiSocketsTcp020 from 'wasi:sockets/tcp@0.2.0'; // import wasi:sockets/tcp@0.2.0
  export type * as WitletHostConfig010 from 'witlet:host/config@0.1.0'; // import witlet:host/config@0.1.0
  export type * as WitletHostLog010 from 'witlet:host/log@0.1.0'; // import witlet:host/log@0.1.0
  export type * as WitletProbeTypes010 from 'witlet:probe/types@0.1.0'; // import witlet:probe/types@0.1.0
  export * as prober from 'witlet:probe/prober@0.1.0'; // export witlet:probe/prober@0.1.0
}
