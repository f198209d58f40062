package project

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
)

// Pipelines are those of the tables, in the order of the file.
func (c *Config) Pipelines() (list []*config.Pipeline) {
	for i := range c.Tables {
		list = append(list, c.Tables[i].pipeline)
	}
	return list
}

// Check checks what makes it impossible to release by a project, without data; connect: also the key, the sources with
// their columns, and that the outputs can be written. It leaves nothing behind.
func Check(ctx context.Context, c *Config, connect bool) (err error) {
	for _, p := range c.Pipelines() {
		if err := p.CheckRelease(); err != nil {
			return err
		}
	}
	if !connect {
		return nil
	}
	ctx, o := pipeline.Options{AllowLoosening: true}.Ready(ctx)
	r := &run{config: c, options: o, checks: true, members: map[string]*member{}}
	if err := r.open(ctx); err != nil {
		return errors.Join(err, r.close())
	}
	defer func() { err = errors.Join(err, r.abort(), r.close()) }()
	if err := r.create(ctx); err != nil {
		return err
	}
	for i := range c.Tables {
		t := &c.Tables[i]
		moved := *t.pipeline
		if moved.Sink.Config, err = r.joint.Sink(moved.Sink.Config); err != nil {
			return err
		}
		if err := filejob.Connect(ctx, &moved); err != nil {
			return fmt.Errorf("table %s: %w", strconv.Quote(t.Name), err)
		}
	}
	return nil
}
