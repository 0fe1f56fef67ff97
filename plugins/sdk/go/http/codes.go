package http

import "strings"

// codes are the contract's error codes in their order.
var codes = [...]string{
	"DNS-timeout",
	"DNS-error",
	"destination-not-found",
	"destination-unavailable",
	"destination-IP-prohibited",
	"destination-IP-unroutable",
	"connection-refused",
	"connection-terminated",
	"connection-timeout",
	"connection-read-timeout",
	"connection-write-timeout",
	"connection-limit-reached",
	"TLS-protocol-error",
	"TLS-certificate-error",
	"TLS-alert-received",
	"HTTP-request-denied",
	"HTTP-request-length-required",
	"HTTP-request-body-size",
	"HTTP-request-method-invalid",
	"HTTP-request-URI-invalid",
	"HTTP-request-URI-too-long",
	"HTTP-request-header-section-size",
	"HTTP-request-header-size",
	"HTTP-request-trailer-section-size",
	"HTTP-request-trailer-size",
	"HTTP-response-incomplete",
	"HTTP-response-header-section-size",
	"HTTP-response-header-size",
	"HTTP-response-body-size",
	"HTTP-response-trailer-section-size",
	"HTTP-response-trailer-size",
	"HTTP-response-transfer-coding",
	"HTTP-response-content-coding",
	"HTTP-response-timeout",
	"HTTP-upgrade-failed",
	"HTTP-protocol-error",
	"loop-detected",
	"configuration-error",
	"internal-error",
}

func spaced(code string) string { return strings.ReplaceAll(code, "-", " ") }
