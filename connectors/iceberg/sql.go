package iceberg

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/postgres"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// sqlCatalog is a table of a catalog in a database, with the tables that Iceberg's JdbcCatalog and pyiceberg's
// SqlCatalog make: a row has the location of a table's present metadata.
type sqlCatalog struct {
	database    *postgres.Connection
	catalog     string
	namespace   string
	name        string
	newLocation string // of the tables of the namespace; "": its property
}

func newSQL(p *Place) *sqlCatalog {
	at := strings.LastIndexByte(p.Table, '.')
	return &sqlCatalog{database: p.database(), catalog: p.Warehouse, namespace: p.Table[:at], name: p.Table[at+1:],
		newLocation: p.newLocation}
}

const sqlWhat = "the SQL catalog"

// rows runs one statement.
func (c *sqlCatalog) rows(ctx context.Context, sql string, parameters ...string) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	session, err := c.database.Session(ctx)
	if err != nil {
		return nil, &notAsked{fmt.Errorf("%s: %w", sqlWhat, err)}
	}
	defer session.Close()
	return session.Rows(ctx, sqlWhat, sql, parameters...)
}

// notAsked is the error of a statement that the server has not got.
type notAsked struct{ error }

func (e *notAsked) Unwrap() error { return e.error }

// whose is the condition of the table's row.
const whose = ` WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3`

func (c *sqlCatalog) load(ctx context.Context) (*table, error) {
	// The first version of the tables has no types.
	rows, err := c.rows(ctx, `SELECT metadata_location, to_jsonb(t) ->> 'iceberg_type' FROM iceberg_tables t`+whose,
		c.catalog, c.namespace, c.name)
	var said *postgres.Error
	switch {
	case errors.As(err, &said) && said.State == "42P01":
		return nil, errors.New("the database has no catalog of Iceberg (iceberg_tables): a client of Iceberg makes it")
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, nil
	case rows[0][1] != "" && rows[0][1] != "TABLE":
		return nil, errors.New("is a view, of which there are no records")
	case rows[0][0] == "":
		return nil, errors.New("the catalog does not say where the table's metadata are")
	}
	text, err := readAll(ctx, rows[0][0], "the table's metadata")
	if err == nil {
		text, err = unzipped(text)
	}
	if err != nil {
		return nil, err
	}
	return parseTable(text, rows[0][0])
}

// unzipped is metadata that may be compressed.
func unzipped(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(z, mostMetadata))
	}
	if err != nil {
		return nil, errors.New("the table's metadata are compressed, and damaged")
	}
	return text, nil
}

// prepare finds out where the table is to lie: as pyiceberg's does, in the folder of its name.
func (c *sqlCatalog) prepare(ctx context.Context, schema *meta.Schema) (*table, error) {
	rows, err := c.rows(ctx,
		`SELECT property_key, property_value FROM iceberg_namespace_properties WHERE catalog_name = $1 AND namespace = $2`,
		c.catalog, c.namespace)
	if err != nil {
		return nil, err
	}
	location := c.newLocation
	for _, r := range rows {
		if r[0] == "location" && location == "" {
			location = r[1]
		}
	}
	switch {
	case len(rows) == 0:
		return nil, fmt.Errorf("the catalog has no namespace %s", c.namespace)
	case location == "":
		return nil, fmt.Errorf("the catalog's namespace %s has no location; say where the table is to lie: location", c.namespace)
	}
	return begin(uuid.NewString(), strings.TrimRight(location, "/")+"/"+c.name, schema, time.Now())
}

// commit writes the metadata, and has the row name them if it still names those that they were made from.
func (c *sqlCatalog) commit(ctx context.Context, t *table, s *snapshot) error {
	text, err := t.with(s)
	if err != nil {
		return err
	}
	root, err := pathOf(t.Location)
	if err != nil {
		return err
	}
	name := rootMetadata(markOf(s.Manifests), versionOf(t.location)+1)
	at := join(root, metadataFolder, name)
	if err := publish.WriteFile(at, publish.Public, text); err != nil {
		return err
	}
	now := t.Location + "/" + metadataFolder + "/" + name
	var rows [][]string
	if t.location == "" {
		rows, err = c.rows(ctx, `INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location)
VALUES ($1, $2, $3, $4) RETURNING 1`, c.catalog, c.namespace, c.name, now)
	} else {
		rows, err = c.rows(ctx,
			`UPDATE iceberg_tables SET metadata_location = $4, previous_metadata_location = $5`+whose+
				` AND metadata_location = $5 RETURNING 1`, c.catalog, c.namespace, c.name, now, t.location)
	}
	var said *postgres.Error
	var never *notAsked
	switch {
	case err == nil && len(rows) == 1:
		return nil
	case err == nil && len(rows) == 0, errors.As(err, &said) && said.State == "23505":
		return errors.Join(errConflict, removePath(ctx, at))
	case errors.As(err, &never), said != nil && refuses(said.State):
		return err
	}
	return settle(ctx, c, s, &doubt{err: err})
}

// refuses reports whether a server that answers so has changed nothing. With other answers (57: it ends the connection)
// it may have.
func refuses(state string) bool {
	switch {
	case len(state) != 5 || state == "40003": // whether it is done is not known
		return false
	case strings.Contains("08 57 58 XX", state[:2]):
		return false
	}
	return true
}

// versionOf is the number with which the name of a file of metadata begins, −1 if it has none.
func versionOf(location string) int {
	base := location[strings.LastIndexByte(location, '/')+1:]
	if n, err := strconv.Atoi(base[:max(strings.IndexByte(base, '-'), 0)]); err == nil && n >= 0 {
		return n
	}
	return -1
}
