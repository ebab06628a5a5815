package status

import "time"

// Gap is something that is not known, or not done.
type Gap struct {
	// Text is a clause without a full stop that says what is not known, and what follows from that.
	Text string `json:"text"`
	Beginning
	// Why is the error that causes it, empty if there is none.
	Why string `json:"why,omitempty"`
	// Remedy is a sentence that says what to do.
	Remedy string `json:"remedy,omitempty"`
}

// Line describes the gap in one line, as /readyz shows it.
func (g *Gap) Line() string {
	line := "[!] " + g.Text
	if !g.Since.IsZero() {
		line += g.Word() + "since " + g.Since.UTC().Format(time.RFC3339)
	}
	if reason := g.Reason(); reason != "" {
		line += ": " + reason
	}
	return line
}

// Word is what stands before since when the gap is there.
func (g *Gap) Word() string {
	if g.AtLeast {
		return ", at least "
	}
	return " "
}

// Reason says why, and what to do; empty if neither is known.
func (g *Gap) Reason() string {
	if g.Why == "" || g.Remedy == "" {
		return g.Why + g.Remedy
	}
	return g.Why + ". " + g.Remedy
}
