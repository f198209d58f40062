package rumap

import (
	"fmt"
	"io"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// PictureOptions say how a map is drawn. Zero sizes stand for 720 × 480 (SVG) and
// 1440 × 960 pixels (PNG).
type PictureOptions struct {
	Width, Height int
	Subjects      []Subject // that curves are drawn for; nil: those that the rules protect
}

// Layout of a picture in the SVG's units; a PNG has two pixels to each.
const (
	pictureWidth  = 720
	pictureHeight = 480
	pngScale      = 2
)

// WriteSVG draws the map as an SVG file: efficiency U/U₀ to the right, R upwards on
// a log scale with the error it means in the column's unit on the other side
// (Duncan, Keller-McNulty and Stokes 2004, section III).
func WriteSVG(w io.Writer, m *Map, o PictureOptions) error {
	if _, err := w.Write(figure.RUMapsSVG(m.Pictures(o.Subjects...), standalone(o.Width, o.Height))); err != nil {
		return fmt.Errorf("map.svg: %w", err)
	}
	return nil
}

// WritePNG draws the same picture in pixels.
func WritePNG(w io.Writer, m *Map, o PictureOptions) error {
	scale := float64(pngScale)
	width, height := pictureWidth, 0
	if o.Width > 0 {
		scale = float64(o.Width) / pictureWidth
	}
	if o.Height > 0 {
		height = int(float64(o.Height)/scale + 0.5)
	}
	if err := figure.WriteRUMapsPNG(w, m.Pictures(o.Subjects...), standalone(width, height), scale); err != nil {
		return fmt.Errorf("map.%w", err)
	}
	return nil
}

// standalone is a file of its own of width × height units; 0 stands for the usual.
func standalone(width, height int) figure.SVGOptions {
	if width <= 0 {
		width = pictureWidth
	}
	if height <= 0 {
		height = pictureHeight
	}
	return figure.SVGOptions{Width: width, Height: height, ID: "map", Standalone: true}
}
