package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// papers are the paper sizes on which a page for the release board must fit, in inches.
var papers = []struct {
	name          string
	width, height float64
}{{"A4", 210 / 25.4, 297 / 25.4}, {"letter", 8.5, 11}}

// pdfPage matches an object of a PDF that is a page; the tree of pages is called Pages.
var pdfPage = regexp.MustCompile(`/Type\s*/Page[^s]`)

// boards prints every page for the release board in a folder on each paper and requires
// one sheet; screenshots gets the PDFs. The reports in the same folder, which are longer,
// test that more sheets would be noticed.
func boards(ctx context.Context, chromium, folder, screenshots string) (problems []string, err error) {
	profile, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(profile)) }()
	b, err := open(ctx, chromium, profile)
	if err != nil {
		return nil, err
	}
	defer b.stop()
	sheets, err := filepath.Glob(filepath.Join(folder, "*.board.html"))
	if err != nil {
		return nil, err
	}
	if len(sheets) == 0 {
		return nil, fmt.Errorf("%s: there is no *.board.html", folder)
	}
	for _, paper := range papers {
		for _, path := range sheets {
			n, err := b.print(path, paper.width, paper.height, screenshots, paper.name)
			if err != nil {
				return problems, err
			}
			if n != 1 {
				problems = append(problems,
					fmt.Sprintf("%s takes %d sheets of %s, must take 1", filepath.Base(path), n, paper.name))
			}
		}
		n, err := b.print(filepath.Join(folder, "released.html"), paper.width, paper.height, "", paper.name)
		if err != nil {
			return problems, err
		}
		if n < 3 {
			problems = append(problems,
				fmt.Sprintf("a whole report takes %d sheets of %s: sheets are not counted right", n, paper.name))
		}
	}
	return problems, nil
}

// print prints a page with its print style and returns the number of sheets.
func (b *browser) print(path string, width, height float64, folder, paper string) (sheets int, err error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	if err := chromedp.Do(b.tab, chromedp.Navigate("file://"+whole)); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	var pdf []byte
	background := true
	err = chromedp.Do(b.tab, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		r,
			err := cdp.Call(ctx, t, page.PrintToPDF,
			page.PrintToPDFParams{PaperWidth: width, PaperHeight: height, PrintBackground: &background})
		if err == nil {
			pdf = r.Data
		}
		return err
	}))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if folder != "" {
		name := filepath.Base(path) + "." + paper + ".pdf"
		if err := os.WriteFile(filepath.Join(folder, name), pdf, 0o600); err != nil {
			return 0, err
		}
	}
	return len(pdfPage.FindAll(pdf, -1)), nil
}
