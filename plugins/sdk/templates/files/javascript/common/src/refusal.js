// What a function throws that answers with an error.

/**
 * An error in the contract's sense: its payload is the `err` of the function's result, by default the message. Every other
 * error that leaves a function ends the plugin's instance (a trap), for it is a fault of the plugin's own.
 *
 * @template [P=string]
 */
export class Refusal extends Error {
  /**
   * @param {string} message For people.
   * @param {P} [payload] The `err` where it isn't a text.
   */
  constructor(message, payload) {
    super(message);
    this.name = 'Refusal';
    /** The bindings look for this property. */
    this.payload = payload ?? message;
  }
}

/**
 * A JSON object with known fields. JSON's `null`, which is what stands for nothing, is an object without fields.
 *
 * @param {string} text
 * @param {string[]} known
 * @returns {Record<string, unknown>}
 * @throws {Refusal} that names what is wrong.
 */
export function parseObject(text, known) {
  let value;
  try {
    value = JSON.parse(text) ?? {};
  } catch {
    throw new Refusal('this is no JSON');
  }
  if (typeof value !== 'object' || Array.isArray(value)) throw new Refusal('this is no JSON object');
  for (const field of Object.keys(value)) {
    if (!known.includes(field)) throw new Refusal(`${field}: there is no such field, only ${known.join(', ')}`);
  }
  return value;
}
