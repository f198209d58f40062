package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/twmb/franz-go/pkg/sr"
)

// Kind is the kind of an error between the program and a registry.
type Kind uint8

const (
	Unavailable  Kind = iota // no connection, timeout, 408, 429, 5xx: may be temporary
	Unauthorized             // 401: wrong user or password
	Forbidden                // 403: a right is missing
	NotFound                 // 404: no such subject, version or schema
	Incompatible             // 409: the subject's earlier schemas forbid this one
	Invalid                  // another answer of 4xx: the registry does not accept the schema or the request
	Untrusted                // the server's certificate, or no TLS where TLS was expected
	Unreadable               // the answer is not that of a schema registry
	Remade                   // it has another schema under a number than before
)

// Error is an error answer of a registry, or the lack of an answer. It names the
// subject or the schema's number, never a secret.
type Error struct {
	Kind   Kind
	Doing  string // "read the latest schema of subject survey-value"
	Status int    // of HTTP; 0 if there was no answer
	Reason string // what must hold, and the registry's message
}

func (e *Error) Error() string { return "schema registry: " + e.Doing + ": " + e.Reason }

// Retriable reports whether the same request may succeed later.
func (e *Error) Retriable() bool { return e.Kind == Unavailable }

// IsNotFound reports whether err means that a subject, version or schema does not
// exist.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == NotFound
}

// IsRetriable reports whether err means that a registry did not answer, which may be
// temporary.
func IsRetriable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Retriable()
}

// classify converts an error of sr to an *Error.
func (c *Client) classify(doing string, err error) *Error {
	e := &Error{Doing: doing}
	var answer *sr.ResponseError
	if errors.As(err, &answer) {
		e.Status = answer.StatusCode
		reply := c.clean(answer.Error())
		if bytes.HasPrefix(bytes.TrimSpace(answer.Raw), []byte("<")) {
			reply = "a page of HTML"
		}
		switch s := answer.StatusCode; {
		case s == http.StatusUnauthorized:
			e.Kind = Unauthorized
			e.Reason = "username and password must be those of a user of the registry"
			if c.username == "" {
				e.Reason = "the registry asks for a username and password, and none are configured"
			}
		case s == http.StatusForbidden:
			e.Kind = Forbidden
			e.Reason = "the right to do this is missing"
			if c.username != "" {
				e.Reason = fmt.Sprintf("user %s lacks the right to do this", c.username)
			}
		case s == http.StatusNotFound:
			e.Kind, e.Reason = NotFound, "does not exist"
		case s == http.StatusConflict:
			e.Kind, e.Reason = Incompatible,
				"the schema must be compatible with the subject's earlier ones; make it so, relax the subject's compatibility, or release to another subject"
		case s == http.StatusRequestTimeout || s == http.StatusTooManyRequests || s >= 500:
			// What a server says that fails may be of anything, and helps nobody.
			e.Kind, e.Reason = Unavailable, fmt.Sprintf("the registry cannot answer now (status %d)", s)
			return e
		default:
			e.Kind, e.Reason = Invalid, "the registry refuses the request"
		}
		e.Reason = fmt.Sprintf("%s (status %d: %s)", e.Reason, e.Status, reply)
		return e
	}
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
		syntax    *json.SyntaxError
		shape     *json.UnmarshalTypeError
	)
	var transport *url.Error
	cause := err
	if errors.As(err, &transport) {
		cause = transport.Err // without the address
	}
	switch {
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid), errors.As(err, &verify),
		errors.As(err, &plain):
		e.Kind, e.Reason = Untrusted, "the connection cannot be trusted: "+c.clean(cause.Error())
	case errors.As(err, &syntax), errors.As(err, &shape), errors.Is(err, errTooLarge), errors.Is(err, errNoAnswer):
		e.Kind, e.Reason = Unreadable, "what answers is no schema registry, or its answer is damaged"
	case errors.Is(err, context.DeadlineExceeded):
		e.Reason = "no answer in time"
	default:
		e.Reason = "no answer: " + c.clean(cause.Error())
	}
	return e
}

// clean shortens a server's message to one line without control characters, and removes
// the password in case the server repeats it.
func (c *Client) clean(s string) string {
	if c.password != "" {
		s = strings.ReplaceAll(s, base64.StdEncoding.EncodeToString([]byte(c.username+":"+c.password)), "[secret]")
		s = strings.ReplaceAll(s, c.password, "[secret]")
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	const most = 300
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}
