// Command bench measures the R-U map and the attack, and prints what it found as
// Markdown. scripts/bench-map.sh, scripts/bench-attack.sh and
// scripts/bench-guard.sh run it:
//
//	bench data-map    -dir DIR -records 100000
//	bench map         -dir DIR -filter sdlfilter -script bench-map.R …
//	bench data-attack -dir DIR -released 1000000
//	bench attack      -dir DIR -filter sdlfilter -tests DIR …
//	bench guard       -dir DIR -before sdlfilter -after sdlfilter
//
// Data are made by a process of their own, as the peak memory of a child that
// Linux reports is never below that of its parent.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	parts := map[string]func(context.Context, []string, io.Writer) error{
		"data-map": makeMapData, "map": benchMap, "data-attack": makeAttackData, "attack": benchAttack, "guard": benchGuard,
	}
	if len(args) == 0 || parts[args[0]] == nil {
		return fmt.Errorf("usage: bench data-map|map|data-attack|attack|guard [flags]")
	}
	if err := parts[args[0]](ctx, args[1:], out); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}
