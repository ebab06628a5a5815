package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

const (
	holdAnnotation   = "com.xing.deployment-restart.hold"
	windowAnnotation = "com.xing.deployment-restart.window"
	waveAnnotation   = "com.xing.deployment-restart.wave"

	shortestHold, longestHold = 4 * time.Second, 40 * time.Second
	// afterOpening is for how long a window that has opened is kept at most.
	afterOpening = 20 * time.Second
)

// termsOf reads annotations as the soak writes them: a window is daily, in UTC, and open for minutes.
// Everything else is never open.
func termsOf(annotations map[string]string, now time.Time) (terms model.Terms) {
	_, terms.Hold = annotations[holdAnnotation]
	text, exists := annotations[windowAnnotation]
	if !exists {
		return terms
	}
	terms.Window.Exists = true
	var minute, hour, minutes int
	if _, err := fmt.Sscanf(text, windowFormat, &minute, &hour, &minutes); err != nil {
		return terms
	}
	day := now.UTC().Truncate(24 * time.Hour)
	opens := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	switch between := opens.Sub(now); { // that of yesterday or tomorrow may be nearer
	case between > 12*time.Hour:
		opens = opens.AddDate(0, 0, -1)
	case between < -12*time.Hour:
		opens = opens.AddDate(0, 0, 1)
	}
	terms.Window.Opens, terms.Window.Closes = opens, opens.Add(time.Duration(minutes)*time.Minute)
	return terms
}

const windowFormat = "CRON_TZ=UTC %d %d * * * %dm"

// drawTerms draws annotations that hold restarts, and for how long they are to be there.
func drawTerms(random *rand.Rand, now time.Time) (kind string, annotations map[string]any, lasts time.Duration) {
	lasts = between(random, shortestHold, longestHold)
	switch random.IntN(5) {
	case 0, 1:
		return "hold", map[string]any{holdAnnotation: "for the soak"}, lasts
	case 2:
		return "window that cannot be read", map[string]any{windowAnnotation: "at night"}, lasts
	}
	opens := now.UTC().Truncate(time.Minute).Add(time.Minute)
	text := fmt.Sprintf(windowFormat, opens.Minute(), opens.Hour(), 1+random.IntN(30))
	return "window", map[string]any{windowAnnotation: text}, opens.Sub(now) + between(random, 0, afterOpening)
}

// noTerms takes away what drawTerms draws.
var noTerms = map[string]any{holdAnnotation: nil, windowAnnotation: nil}

// holdUp does something that keeps restarts from beginning.
func (d *driver) holdUp(ctx context.Context, random *rand.Rand, w int) error {
	switch random.IntN(4) {
	case 0:
		return d.spoil(ctx, random, w)
	case 1:
		return d.holdConfig(ctx, random, w)
	}
	return d.holdWorkload(ctx, random, w)
}

// holdWorkload lets no restart of a workload begin for a while.
func (d *driver) holdWorkload(ctx context.Context, random *rand.Rand, w int) error {
	app := pick(random, d.world.workloads, w)
	if app.never || app.held {
		return nil
	}
	kind, annotations, lasts := drawTerms(random, time.Now())
	d.count(kind + " on a workload")
	if err := d.annotateWorkload(ctx, app, annotations); err != nil {
		return err
	}
	app.held = true
	d.later(w, lasts, func(ctx context.Context) error {
		app.held = false
		return d.annotateWorkload(ctx, app, noTerms)
	})
	return nil
}

func (d *driver) annotateWorkload(ctx context.Context, app *workload, annotations map[string]any) error {
	return d.patchWorkload(ctx, app, "holder", map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// holdConfig lets no restart for a config's new content begin for a while.
func (d *driver) holdConfig(ctx context.Context, random *rand.Rand, w int) error {
	c := d.pickShared(random, w)
	if c == nil || c.held {
		return nil
	}
	kind, annotations, lasts := drawTerms(random, time.Now())
	d.count(kind + " on a config")
	if err := d.annotateConfig(ctx, c, annotations); err != nil {
		return err
	}
	c.held = true
	d.later(w, lasts, func(ctx context.Context) error {
		c.held = false
		return d.annotateConfig(ctx, c, noTerms)
	})
	if random.IntN(3) > 0 && !c.bad { // so that there is something to hold
		return d.setKey(ctx, c, "data/"+theKey, d.value())
	}
	return nil
}

func (d *driver) annotateConfig(ctx context.Context, c *config, annotations map[string]any) error {
	written := map[string]string{}
	for name, value := range annotations {
		if text, isText := value.(string); isText {
			written[name] = text
		}
	}
	begin := time.Now()
	if err := d.patchConfig(ctx, c, "holder", map[string]any{"metadata": map[string]any{"annotations": annotations}}, "", nil); err != nil {
		return err
	}
	d.judge.agree(model.TermsEdit{Begin: begin, End: time.Now(), Config: c.ref(), Terms: termsOf(written, begin)})
	return nil
}

// pickShared draws a config of a worker's that many workloads read, nil if it finds none.
func (d *driver) pickShared(random *rand.Rand, w int) *config {
	for range 100 {
		if c := pick(random, d.world.configs, w); c.shared && c.content != nil {
			return c
		}
	}
	return nil
}
