package statuspage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/internal/status"
)

func TestATimelineShowsWhenRestartsBeganAndEnded(t *testing.T) {
	begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	restarts := []status.Restart{
		{Time: begin, Outcome: status.Delivered, Took: 20}, {Time: begin.Add(20 * time.Second), Outcome: status.Broken, Took: 60},
		{Time: begin.Add(50 * time.Second), Outcome: status.Recovered}, {Time: begin.Add(60 * time.Second), Outcome: status.Unknown, Took: 10},
		{Time: begin.Add(90 * time.Second)}, {Time: begin.Add(100 * time.Second)},
	}
	got := timelineOf(restarts, begin.Add(100*time.Second))
	var segments []segment
	for _, row := range got.Rows {
		segments = append(segments, row.Bar.Segments...)
	}
	want := []segment{{"delivered", 0, 20}, {"failed", 20, 60}, {"delivered", 50, thinnest}, {"pending", 60, 10}, {"rolling", 90, 10}, {"rolling", 100 - thinnest, thinnest}}
	if diff := cmp.Diff(want, segments); diff != "" || !got.From.Equal(begin) || !got.To.Equal(begin.Add(100*time.Second)) || got.Rows[1].Bar.Label != "from 12:00:20 to 12:01:20" {
		t.Errorf("%s, %+v", diff, got)
	}
	for name, restarts := range map[string][]status.Restart{"none": nil, "one that begins": {{Time: begin}}, "a clock that was set back": {{Time: begin.Add(time.Hour)}, {Time: begin.Add(time.Hour)}}} {
		for _, row := range timelineOf(restarts, begin).Rows {
			if s := row.Bar.Segments[0]; s.X < 0 || s.X+s.Width > 100 {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}
