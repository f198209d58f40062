package postgres

import (
	"context"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Session is a connection for the few statements of something else that keeps its state in a database: each is a
// transaction of its own. Its errors are *Error, or what the context was ended by.
type Session struct{ db *conn }

// Session opens one, whose commits are on the disk when they are answered.
func (c *Connection) Session(ctx context.Context) (*Session, error) {
	db, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := db.do(ctx, durable); err != nil {
		db.close()
		return nil, explain(ctx, err, "connecting to PostgreSQL")
	}
	return &Session{db}, nil
}

// Rows runs a statement and returns its rows as text, "" for null. what names it in errors.
func (s *Session) Rows(ctx context.Context, what, sql string, parameters ...string) ([][]string, error) {
	rows, err := s.db.rows(ctx, sql, parameters...)
	return rows, explain(ctx, err, what)
}

// Close ends the connection.
func (s *Session) Close() { s.db.close() }

// Problems is what is wrong with the connection's fields.
func (c *Connection) Problems() check.Problems {
	var ps check.Problems
	c.check(&ps)
	return ps
}

// Named is the connection of a program that the server's lists of connections show by this name.
func (c Connection) Named(application string) *Connection {
	c.application = application
	return &c
}

// Server names the server of the URL, without a user and a password, and its database.
func (c *Connection) Server() (namespace, database string) {
	of := c.dataset("")
	return of.Namespace, strings.TrimSuffix(of.Name, ".")
}
