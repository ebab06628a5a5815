package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

const (
	// picturesVariable is the variable of the environment that names the directory for pictures of the
	// documents. Without it, none are made.
	picturesVariable = "SCREENSHOTS"
	// maxPicture is how many bytes a picture has at most.
	maxPicture = 150 << 10
)

// picture writes a picture of an element, or of what a screen shows, if pictures are to be made.
func (b *tab) picture(name, selector, scheme string) {
	b.Helper()
	directory := os.Getenv(picturesVariable)
	if directory == "" {
		return
	}
	b.prefer(scheme)
	b.resize(1100, 900)
	take := chromedp.CaptureScreenshot()
	if selector != "" {
		take = chromedp.Screenshot(chromedp.CSS(selector))
	}
	taken, err := chromedp.Run(b.ctx, take)
	if err != nil {
		b.Fatal(err)
	}
	small, err := reduce(taken)
	if err == nil && len(small) > maxPicture {
		b.Errorf("%s has %d KiB", name, len(small)>>10)
	}
	if err == nil {
		err = os.MkdirAll(directory, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, name+".png"), small, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.prefer("light")
}

// reduce makes a picture with 256 colors of one with more. Pages have few, apart from the edges of letters.
func reduce(picture []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	count := make(map[color.RGBA]int)
	bounds := full.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[rounded(full.At(x, y))]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return cmp.Compare(count[b], count[a]) })
	var frequent color.Palette
	for _, c := range colors[:min(len(colors), 256)] {
		frequent = append(frequent, c)
	}
	nearest := make(map[color.RGBA]uint8, len(colors))
	for _, c := range colors {
		nearest[c] = uint8(frequent.Index(c))
	}
	reduced := image.NewPaletted(bounds, frequent)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			reduced.SetColorIndex(x, y, nearest[rounded(full.At(x, y))])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced)
	return out.Bytes(), err
}

// rounded leaves six bits of each channel.
func rounded(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	round := func(channel uint32) uint8 { return uint8(channel>>8)&0xfc | uint8(channel>>14) }
	return color.RGBA{round(r), round(g), round(b), 0xff}
}
