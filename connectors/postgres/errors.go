package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Error is what a server or the connection to it said, in words that hold no value: a
// server's own words may quote a row.
type Error struct {
	What  string // what was being done, and to what
	State string // SQLSTATE; "" where the server said nothing
	Why   string
}

func (e *Error) Error() string {
	if e.State == "" {
		return e.What + ": " + e.Why
	}
	return fmt.Sprintf("%s: %s (SQLSTATE %s)", e.What, e.Why, e.State)
}

// explain turns an error of the driver into one that can be shown. What ctx was ended by
// stays what it is.
func explain(ctx context.Context, err error, what string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var ours *Error
	if errors.As(err, &ours) {
		return ours
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return &Error{What: what, State: state(server.Code), Why: meaning(server)}
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return &Error{What: what, Why: unreachable(connect)}
	}
	return &Error{What: what, Why: "the connection was lost"}
}

// unreachable returns the reason for a failed connection. The driver's own text contains the name
// of the user and the contents of certificates.
func unreachable(err error) string {
	var certificate *tls.CertificateVerificationError
	var network *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &certificate):
		return "the server's certificate is not trusted: " + certificate.Err.Error()
	case errors.As(err, &name):
		return name.Error()
	case errors.As(err, &network):
		return network.Error()
	case strings.Contains(err.Error(), "server refused TLS"):
		return "the server takes no encrypted connections, and sslmode demands one"
	}
	return "no connection could be made"
}

// state keeps only texts that look like an SQLSTATE: a function in the database can choose any text.
func state(code string) string {
	for _, c := range []byte(code) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return ""
		}
	}
	if len(code) != 5 {
		return ""
	}
	return code
}

// meaning says in our words what an error of the server is. Nothing of its message, detail,
// hint or context is in it; where in our own statement it lies is.
func meaning(e *pgconn.PgError) string {
	why, ok := meanings[e.Code]
	if !ok && len(e.Code) == 5 {
		why, ok = meanings[e.Code[:2]]
	}
	if !ok {
		why = "the server refused"
	}
	return why
}

// meanings are those of whole codes and of classes, which are their first two characters.
var meanings = map[string]string{
	"08": "the connection failed",
	"22": "a value is not one that the server takes here (its log has the place)",
	"23": "a constraint of the table is broken",
	"25": "the transaction is not in a state for this",
	"28": "the server does not let this user in",
	"40": "the server rolled the transaction back",
	"42": "the statement does not fit the database",
	"53": "the server has no room left",
	"54": "a limit of the server is exceeded",
	"55": "the object is not in a state for this",
	"57": "the server or its administrator ended the connection",
	"58": "the server's system has failed",
	"72": "the snapshot is too old",
	"XX": "the server has an internal error or damaged data",

	"25006": "the server or the transaction takes no writing (a standby, or a function that writes)",
	"28P01": "the password is wrong, or there is none",
	"3D000": "there is no such database",
	"3F000": "there is no such schema",
	"22021": "a text holds characters that the database's encoding does not have",
	"42P01": "there is no such table",
	"42703": "there is no such column",
	"42701": "a column is named twice, or as one of the server's own",
	"42883": "there is no such function, or not for these types",
	"42601": "the query is no valid statement",
	"42501": "the user has no right to do this",
	"42809": "it is no table",
	"53100": "the server's disk is full",
	"53300": "the server has too many connections",
	"54011": "the table would have too many columns",
	"55P03": "the table was in use by others for too long",
	"57014": "the statement was cancelled",
	"57P03": "the server is not ready for connections",
	"2BP01": "other objects, as views, depend on it",
}
