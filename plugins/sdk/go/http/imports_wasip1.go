package http

//go:wasmimport wasi:http/types@0.2.0 [static]fields.from-list
func fieldsFromList(entries, length, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [method]fields.entries
func fieldsEntries(fields, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [resource-drop]fields
func dropFields(fields uint32)

//go:wasmimport wasi:http/types@0.2.0 [constructor]outgoing-request
func newRequest(fields uint32) uint32

//go:wasmimport wasi:http/types@0.2.0 [method]outgoing-request.set-method
func requestSetMethod(request, method, text, length uint32) uint32

//go:wasmimport wasi:http/types@0.2.0 [method]outgoing-request.set-scheme
func requestSetScheme(request, isSome, scheme, text, length uint32) uint32

//go:wasmimport wasi:http/types@0.2.0 [method]outgoing-request.set-authority
func requestSetAuthority(request, isSome, text, length uint32) uint32

//go:wasmimport wasi:http/types@0.2.0 [method]outgoing-request.set-path-with-query
func requestSetPath(request, isSome, text, length uint32) uint32

//go:wasmimport wasi:http/types@0.2.0 [method]outgoing-request.body
func requestBody(request, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [resource-drop]outgoing-request
func dropRequest(request uint32)

//go:wasmimport wasi:http/types@0.2.0 [method]outgoing-body.write
func bodyWrite(body, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [static]outgoing-body.finish
func bodyFinish(body, hasTrailers, trailers, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [resource-drop]outgoing-body
func dropOutgoingBody(body uint32)

//go:wasmimport wasi:http/outgoing-handler@0.2.0 handle
func handle(request, hasOptions, options, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [method]future-incoming-response.subscribe
func futureSubscribe(future uint32) uint32

//go:wasmimport wasi:http/types@0.2.0 [method]future-incoming-response.get
func futureGet(future, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [resource-drop]future-incoming-response
func dropFuture(future uint32)

//go:wasmimport wasi:http/types@0.2.0 [method]incoming-response.status
func responseStatus(response uint32) uint32

//go:wasmimport wasi:http/types@0.2.0 [method]incoming-response.headers
func responseHeaders(response uint32) uint32

//go:wasmimport wasi:http/types@0.2.0 [method]incoming-response.consume
func responseConsume(response, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [resource-drop]incoming-response
func dropResponse(response uint32)

//go:wasmimport wasi:http/types@0.2.0 [method]incoming-body.stream
func bodyStream(body, result uint32)

//go:wasmimport wasi:http/types@0.2.0 [resource-drop]incoming-body
func dropIncomingBody(body uint32)

//go:wasmimport wasi:http/types@0.2.0 http-error-code
func httpErrorCode(cause, result uint32)
