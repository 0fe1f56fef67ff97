// What a function throws that answers with an error.

/**
 * An error in the contract's sense: its payload is the `err` of the function's result, by default the message. Every other
 * error that leaves a function ends the plugin's instance (a trap), for it is a fault of the plugin's own.
 */
export class Refusal<P = string> extends Error {
  /** The bindings look for this property. */
  readonly payload: P | string;

  /**
   * @param message For people.
   * @param payload The `err` where it isn't a text.
   */
  constructor(message: string, payload?: P) {
    super(message);
    this.name = 'Refusal';
    this.payload = payload ?? message;
  }
}

/**
 * A JSON object with known fields. JSON's `null`, which is what stands for nothing, is an object without fields.
 *
 * @throws {Refusal} that names what is wrong.
 */
export function parseObject(text: string, known: string[]): Record<string, unknown> {
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
