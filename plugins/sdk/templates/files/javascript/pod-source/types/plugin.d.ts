/// <reference path="./interfaces/witlet-host-config.d.ts" />
/// <reference path="./interfaces/witlet-host-log.d.ts" />
/// <reference path="./interfaces/witlet-pod-source-source.d.ts" />
/// <reference path="./interfaces/witlet-pod-source-types.d.ts" />
declare module 'local:plugin/plugin' {
  export type * as WitletHostConfig010 from 'witlet:host/config@0.1.0'; // import witlet:host/config@0.1.0
  export type * as WitletHostLog010 from 'witlet:host/log@0.1.0'; // import witlet:host/log@0.1.0
  export type * as WitletPodSourceTypes010 from 'witlet:pod-source/types@0.1.0'; // import witlet:pod-source/types@0.1.0
  export * as source from 'witlet:pod-source/source@0.1.0'; // export witlet:pod-source/source@0.1.0
}
