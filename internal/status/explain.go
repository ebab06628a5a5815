package status

import "time"

// Workload explains one enabled workload.
type Workload struct {
	// Time is when the explanation was made.
	Time time.Time `json:"time"`
	Knowledge
	// Entry is its state.
	Entry
	// ResourceVersion is that of the workload as the controller has seen it last.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// EnabledBy says by what it is enabled, such as "its annotation com.xing.deployment-restart".
	EnabledBy string `json:"enabledBy,omitempty"`
	// Mistakes are those on it, on configs that it reads and on its Namespace, its own ones first. Problems are others that a
	// person has to solve.
	Mistakes []Mistake `json:"mistakes,omitempty"`
	Problems []string  `json:"problems,omitempty"`
	// ByHand says why its pods do not restart by themselves, empty if they do.
	ByHand string `json:"byHand,omitempty"`
	// Method is how its pods are replaced, empty if its pod template restarts them.
	Method string `json:"method,omitempty"`
	// GracePeriod is how many seconds a change waits for others.
	GracePeriod float64 `json:"gracePeriodSeconds"`
	// Wave and Window are those of its annotations. Holds are its own and those of the configs that it reads.
	Wave   int        `json:"wave"`
	Window string     `json:"window,omitempty"`
	Holds  List[Hold] `json:"holds"`

	Reads    List[Seen] `json:"reads"`
	Record   Record     `json:"record"`
	Decision Decision   `json:"decision"`
	// Gate is what the gate answers, nil if no restart is due.
	Gate *Answer `json:"gate,omitempty"`
	// Change is a change that waits for the end of the grace period, nil if there is none.
	Change *Change `json:"change,omitempty"`
	// Last is the last restart that is known, nil if there is none.
	Last *Restart `json:"lastRestart,omitempty"`
}

// Timeless returns the same without what changes although nothing happens.
func (w *Workload) Timeless() *Workload {
	timeless := *w
	timeless.Time, timeless.Knowledge = time.Time{}, w.timeless()
	return &timeless
}

// Seen is a config that the containers of a workload read.
type Seen struct {
	Config string `json:"config"`
	// Exists is nil if it is not known whether the config exists: the controller cannot see all of its kind.
	Exists *bool `json:"exists,omitempty"`
	// ResourceVersion is that of the config as the controller has seen it last, if it exists.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Optional        bool   `json:"optional,omitempty"`
	// ReadAs says in which ways they read it, such as "environment, files"; "API" means that a program reads it by itself.
	ReadAs string `json:"readAs,omitempty"`
	// Ignored means that the config's own annotation lets its changes restart nobody.
	Ignored bool `json:"ignored,omitempty"`
	// AllKeys means that they see all keys. Otherwise KeyCount is how many they see, and Keys names
	// the first of them, unless it is a Secret.
	AllKeys  bool     `json:"allKeys"`
	KeyCount int      `json:"keyCount"`
	Keys     []string `json:"keys,omitempty"`
}

// Record is what a workload's annotations say about the content that its pods run with.
type Record struct {
	// Trusted means that the controller made it for the present pod template.
	Trusted bool      `json:"trusted"`
	Written time.Time `json:"written,omitzero"`
	Configs int       `json:"configs"`
	// Reverted means that another client has reverted the restart that it was made with.
	Reverted bool   `json:"reverted,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// Undecided is the outcome of a decision that cannot be made yet.
const Undecided = "none yet"

// Decision is what the controller decides with what it knows now.
type Decision struct {
	// Outcome is keep, record or restart; "ask" means that the pods decide. It is Undecided while not enough is known.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Causes  string `json:"causes,omitempty"`
}

// Answer is what the gate answers to a restart that is due.
type Answer struct {
	MayBegin bool `json:"mayBegin"`
	// Reason, On and Until are as in an [Entry]; Why explains them.
	Reason string    `json:"reason,omitempty"`
	On     string    `json:"on,omitempty"`
	Why    string    `json:"why,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// Change is a change that waits for the end of the grace period.
type Change struct {
	Since time.Time `json:"since"`
	Due   time.Time `json:"due"`
	// For are the configs that changed; none means that the workload itself did.
	For []string `json:"for,omitempty"`
}

// Config explains one config.
type Config struct {
	// Time is when the explanation was made.
	Time time.Time `json:"time"`
	Knowledge
	Name string `json:"config"`
	// Exists is nil if it is not known whether it exists: the controller cannot see all of its kind.
	Exists *bool `json:"exists,omitempty"`
	// Keys names the first of the keys, unless it is a Secret.
	KeyCount int      `json:"keyCount"`
	Keys     []string `json:"keys,omitempty"`
	// Content identifies the present content, such as for the annotation that calls it urgent.
	Content string `json:"content,omitempty"`
	Gradual bool   `json:"gradual"`
	// Ignored means that its annotation lets its changes restart nobody.
	Ignored bool `json:"ignored,omitempty"`
	// Window and Hold are those of its annotations, and Mistake is what is wrong with these, nil if nothing is.
	Window  string   `json:"window,omitempty"`
	Hold    string   `json:"hold,omitempty"`
	Mistake *Mistake `json:"mistake,omitempty"`

	// SharedWith are the namespaces, or patterns of them, that its annotation shares it with.
	SharedWith string `json:"sharedWith,omitempty"`

	// States counts the enabled workloads of its own namespace that read it, and Readers lists them.
	States  map[State]int `json:"states"`
	Readers List[Entry]   `json:"readers"`
	FanOuts List[FanOut]  `json:"fanOuts"`
	Halts   List[Halt]    `json:"halts"`
	// Restarts are those for its content, the earliest first: those that this process knows since RestartsSince, which is when
	// the earliest of the fan-outs or else the last edit was, zero if neither is known. MissesRestarts means that a former leader
	// has made restarts since then, or may have. A restart for more than 10 configs is one for the first 10 of them.
	Restarts       List[Restart] `json:"restarts"`
	RestartsSince  time.Time     `json:"restartsSince,omitzero"`
	MissesRestarts bool          `json:"missesRestarts,omitempty"`
}

// Timeless returns the same without what changes although nothing happens.
func (c *Config) Timeless() *Config {
	timeless := *c
	timeless.Time, timeless.Knowledge = time.Time{}, c.timeless()
	return &timeless
}
