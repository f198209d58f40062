package project

import (
	"context"
	"errors"

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

// Check checks what makes it impossible to release by a project, without data; connect: also the key, the sources with their columns, and
// that the outputs can be written.
func Check(ctx context.Context, c *Config, connect bool) error {
	for _, p := range c.Pipelines() {
		if err := p.CheckRelease(); err != nil {
			return err
		}
		if !connect {
			continue
		}
		if err := filejob.Connect(ctx, p); err != nil {
			return err
		}
	}
	if !connect {
		return nil
	}
	ctx, o := pipeline.Options{AllowLoosening: true}.Ready(ctx)
	r := &run{config: c, options: o, members: map[string]*member{}}
	err := r.open(ctx)
	return errors.Join(err, r.close())
}
