/// <reference path="./interfaces/witlet-admission-handler.d.ts" />
/// <reference path="./interfaces/witlet-admission-types.d.ts" />
/// <reference path="./interfaces/witlet-host-config.d.ts" />
/// <reference path="./interfaces/witlet-host-log.d.ts" />
declare module 'local:plugin/plugin' {
  export type * as WitletAdmissionTypes010 from 'witlet:admission/types@0.1.0'; // import witlet:admission/types@0.1.0
  export type * as WitletHostConfig010 from 'witlet:host/config@0.1.0'; // import witlet:host/config@0.1.0
  export type * as WitletHostLog010 from 'witlet:host/log@0.1.0'; // import witlet:host/log@0.1.0
  export * as handler from 'witlet:admission/handler@0.1.0'; // export witlet:admission/handler@0.1.0
}
