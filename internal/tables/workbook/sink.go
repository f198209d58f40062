package workbook

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// sink collects the cells of all tables, and writes them when it has them all.
type sink struct {
	file    *publish.File
	sheets  []Sheet
	cells   [][]cell // of each sheet, by place
	columns int      // of a record: the last two are the value and the status
	sheet   int      // of the next cell
	next    int      // cell of that sheet
}

// cell is what is published of a cell.
type cell struct {
	value  any // int64 or float64; nil: held back
	status string
}

// Encode implements connectors.Sink.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	cells := make([]cell, b.N)
	status, ok := b.Columns[s.columns-1].Array.(*array.String)
	if !ok {
		return nil, fmt.Errorf("the status of cells must be text")
	}
	for i := range cells {
		cells[i].status = status.Value(i)
		switch v := b.Columns[s.columns-2].Array.(type) {
		case *array.Int64:
			if v.IsValid(i) {
				cells[i].value = v.Value(i)
			}
		case *array.Float64:
			if v.IsValid(i) {
				cells[i].value = v.Value(i)
			}
		default:
			return nil, fmt.Errorf("the value of cells must be a number")
		}
	}
	return cells, nil
}

// Write implements connectors.Sink.
func (s *sink) Write(ctx context.Context, e connectors.Encoded) error {
	for _, c := range e.([]cell) {
		for s.sheet < len(s.sheets) && s.next == len(s.sheets[s.sheet].Place) {
			s.sheet, s.next = s.sheet+1, 0
		}
		if s.sheet == len(s.sheets) {
			return fmt.Errorf("there are more cells than the tables have")
		}
		s.cells[s.sheet][s.sheets[s.sheet].Place[s.next]] = c
		s.next++
	}
	return ctx.Err()
}

// Finish implements connectors.Sink.
func (s *sink) Finish(ctx context.Context) error {
	if err := write(ctx, s.file, s.sheets, s.cells); err != nil {
		return err
	}
	return s.file.Finish()
}

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities {
	return connectors.SinkAbilities{Content: s.file.Content}
}

// Commit implements connectors.Sink.
func (s *sink) Commit() error { return s.file.Commit() }

// Abort implements connectors.Sink.
func (s *sink) Abort() error { return s.file.Abort() }
