package run

// Signal has an element once something has happened, until somebody takes it. Nil takes none.
type Signal chan struct{}

// NewSignal has no element.
func NewSignal() Signal { return make(Signal, 1) }

// Note puts the element there. It does not wait for anybody to take it.
func (s Signal) Note() {
	select {
	case s <- struct{}{}:
	default:
	}
}
