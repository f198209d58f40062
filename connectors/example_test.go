package connectors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A source is read in runs of records, which are decoded into blocks. A sink receives blocks, and
// its output gets its final name only at Commit.
func ExampleSource() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	from, to := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(from, []byte("name,wage,region\nAnn,1200.50,north\nBob,950,south\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := release(context.Background(), &csv.SourceConfig{Path: from}, &jsonl.SinkConfig{Path: to}); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// {"wage":1200,"region":"north"}
	// {"wage":1000,"region":"south"}
}

// release copies wage, rounded to hundreds, and region. Other columns are not released.
func release(ctx context.Context, from connectors.SourceConfig, to connectors.SinkConfig) (err error) {
	source, err := from.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	schema := source.Schema()
	wage, region := schema.Index("wage"), schema.Index("region")
	layout := &microdata.Layout{
		Schema: schema,
		Read:   []microdata.Want{{Field: wage, As: microdata.Numbers}, {Field: region, As: microdata.Array}},
		Release: []microdata.Output{
			{Field: schema.Fields[wage], Source: wage, Column: 0, Masked: true, Decimals: 0},
			{Field: schema.Fields[region], Source: region, Column: 1},
		},
	}
	sink, err := to.Create(ctx, connectors.Plan{Source: source, Layout: layout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Abort()) }() // has no effect after Commit
	reader, err := source.Read(ctx, layout, connectors.Cut{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	var b microdata.Block
	for {
		raw, err := reader.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := raw.Decode(&b); err != nil {
			return err
		}
		wages := b.Columns[0].Mutable()
		for i, x := range wages.Values {
			wages.Values[i] = float64(int(x/100+0.5)) * 100
		}
		encoded, err := sink.Encode(&b)
		if err != nil {
			return err
		}
		if err := sink.Write(ctx, encoded); err != nil {
			return err
		}
	}
	if err := sink.Finish(ctx); err != nil {
		return err
	}
	return sink.Commit()
}
