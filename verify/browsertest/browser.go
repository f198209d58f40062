package main

import (
	"context"
	"errors"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is one tab of a headless Chromium and the events that it has reported.
type browser struct {
	tab  context.Context
	stop func()

	mu     sync.Mutex
	events []any // requests, console messages and exceptions since the last call of seen
}

// open starts a browser with a profile of its own. Host names are not resolved; only
// 127.0.0.1 can be reached.
func open(ctx context.Context, path, profile string) (*browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	allocator, release := chromedp.NewExecAllocator(ctx, options...)
	tab, closeTab := chromedp.NewContext(allocator)
	b := &browser{tab: tab, stop: func() { closeTab(); release() }}
	if err := chromedp.Listen(tab, b.note); err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
}

// note stores the events that checks use.
func (b *browser) note(event any) {
	switch event.(type) {
	case *network.EventRequestWillBeSent, *runtime.EventExceptionThrown, *runtime.EventConsoleAPICalled,
		*log.EventEntryAdded:
		b.mu.Lock()
		b.events = append(b.events, event)
		b.mu.Unlock()
	}
}

// seen returns the events since the last call.
func (b *browser) seen() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

// evaluate runs an expression in the page and returns its value; if that is a promise,
// the promise's result.
func evaluate[T any](b *browser, expression string) (T, error) {
	return chromedp.Run(b.tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// size sets the width of the page, its colour scheme, and whether motion is reduced.
func (b *browser) size(width int, dark, still bool) error {
	scheme, motion := "light", "no-preference"
	if dark {
		scheme = "dark"
	}
	if still {
		motion = "reduce"
	}
	media := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_,
			err := cdp.Call(ctx, t, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}})
		return err
	})
	return errors.Join(chromedp.Do(b.tab, chromedp.EmulateViewport(int64(width), 900)), chromedp.Do(b.tab, media))
}
