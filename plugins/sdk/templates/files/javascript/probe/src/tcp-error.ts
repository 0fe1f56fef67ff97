// The error of connections, apart from them so that unit tests need no host.

/** Why there is no connection, or no longer. The message is for people. */
export class TcpError extends Error {}
