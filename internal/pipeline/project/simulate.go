package project

import (
	"context"
	"errors"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Simulate masks and judges as Run does, together with the releases of the tables' ledgers. It writes nothing, and
// enters nothing into the ledgers.
func Simulate(ctx context.Context, c *Config, o pipeline.Options) (result *Result, err error) {
	ctx, o = o.Ready(ctx)
	if t := &c.Tables[0]; t.pipeline.Ledger == "" { // then none has one
		return nil, config.Errors{t.pipeline.Errorf("ledger",
			"must be given for each table: the releases with which the next ones are judged")}
	}
	r := &run{config: c, options: o, started: time.Now(), silent: true, members: map[string]*member{}}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	defer func() { err = errors.Join(err, r.abort(), r.close()) }()
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	rep, err := r.judged(ctx)
	if err != nil {
		return nil, err
	}
	return r.result(rep, nil), r.unchanged()
}
