// Pods without the label that the configuration names are refused.

import { type Handler, admit, invalid, policy, reject, text } from './sdk/witlet-admission.ts';

/** The longest key of a label that Kubernetes has: a DNS subdomain, a slash and a name. */
const LABEL_LENGTH_MAX = 253 + 1 + 63;

const REASON = 'LabelMissing';

/** The handler. `log` takes a line for the node's log. */
export const requiredLabel = (log: (line: string) => void): Handler =>
  policy({
    // What stands under `config:` in the plugin's entry.
    config: { label: text },
    // Other images or resources change no label.
    subscribes: ['add'],
    validate({ label }) {
      if (label === '' || label.length > LABEL_LENGTH_MAX) throw invalid('label', `must have 1 to ${LABEL_LENGTH_MAX} characters`);
    },
    // A function of the request and the configuration, and of nothing else.
    admit(request, { label }) {
      const pod = request.pod();
      const value = pod.label(label);
      if (value === undefined) return reject(REASON, `the pod has no label ${label}`);
      if (value === '') return reject(REASON, `the pod's label ${label} is empty`);
      log(`pod ${pod.name()} has ${label}=${value}`);
      return admit();
    },
  });
