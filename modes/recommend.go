package modes

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hnskit/hnskit/hns"
)

// Fit is whether a mode works in a cluster.
type Fit string

// The fits, the best first.
const (
	Works       Fit = "works"
	WorksIf     Fit = "works if" // something is changed first
	DoesNotWork Fit = "does not work"
)

// Side is where something is to be done.
type Side string

// The sides of a cluster. The network is what lies between the nodes: routers,
// firewalls, the settings of the cloud.
const (
	LinuxSide   Side = "Linux nodes"
	WindowsSide Side = "Windows nodes"
	NetworkSide Side = "network"
)

// Reason is why a mode fits or does not.
type Reason struct {
	Text string
	// Source says where that comes from.
	Source string
}

// Action is something to do for a mode to work.
type Action struct {
	Where Side
	// Text says what to do, Source where that comes from.
	Text   string
	Source string
	// Change is that the cluster is not so now; else it is part of setting the
	// mode up.
	Change bool
}

// Recommendation is the verdict on one mode.
type Recommendation struct {
	Mode Mode
	Fit  Fit
	// Reasons are why, the decisive ones first. There is always one.
	Reasons []Reason
	// Do is what has to be done; of a mode that does not work, nothing.
	Do []Action
	// VNI and VXLANPort are what all nodes need on Overlay, zero elsewhere:
	// [NetworkIntent] takes them.
	VNI       uint32
	VXLANPort uint16
}

// Recommendations are the verdicts on all modes, the best first.
type Recommendations []Recommendation

// Recommend ranks the five modes for a cluster of Windows and Linux nodes: a
// mode is of use only if pods of both reach each other. First come those that
// work as things are, then those that need changes, then the others; within
// each, what goes with the Linux side as it is and needs the fewest changes.
// The same cluster always gives the same order. It knows what it is told: that
// a firewall drops VXLAN, for one, it cannot see.
//
// Each reason says where it comes from: the Kubernetes documentation
// ("Networking on Windows"), Microsoft's driver pages, flannel's, Rancher's and
// OpenShift's documentation, or a client's code. Errors about the description
// are *[hns.FieldError]s, all at once.
func Recommend(c Cluster) (Recommendations, error) {
	if err := c.check().as("recommend a mode for", "the cluster"); err != nil {
		return nil, err
	}
	linux, _ := c.linux()
	var out Recommendations
	for _, judge := range []func(*judgement){l2bridgeFit, l2tunnelFit, overlayFit, transparentFit, natFit} {
		j := judgement{c: &c, linux: linux}
		judge(&j)
		out = append(out, j.verdict())
	}
	slices.SortStableFunc(out, func(a, b Recommendation) int {
		if d := a.weight(linux) - b.weight(linux); d != 0 {
			return d
		}
		return a.changes() - b.changes()
	})
	return out, nil
}

// weight orders by fit, then by what goes with the Linux side, in its order.
func (r Recommendation) weight(l linuxTraits) int {
	native := slices.Index(l.native, r.Mode)
	if native < 0 {
		native = len(All())
	}
	return 10*slices.Index([]Fit{Works, WorksIf, DoesNotWork}, r.Fit) + native
}

func (r Recommendation) changes() int {
	n := 0
	for _, a := range r.Do {
		if a.Change {
			n++
		}
	}
	return n
}

// String returns the verdict and its reasons as lines of text.
func (r Recommendation) String() string { return Recommendations{r}.String() }

// String returns a table with a line for each reason and each action:
//
//	Overlay  works if  why            …
//	                   Linux nodes    …
func (rs Recommendations) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rs {
		mode, fit := string(r.Mode), string(r.Fit)
		line := func(what, text string) {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", mode, fit, what, text)
			mode, fit = "", ""
		}
		for _, why := range r.Reasons {
			line("why", why.Text)
		}
		for _, a := range r.Do {
			line(string(a.Where), a.Text)
		}
	}
	_ = w.Flush() // a Builder takes everything
	return b.String()
}

// judgement collects what speaks for and against one mode.
type judgement struct {
	c     *Cluster
	linux linuxTraits
	r     Recommendation
	never []Reason
}

func (j *judgement) verdict() Recommendation {
	r := j.r
	switch {
	case len(j.never) > 0:
		r.Fit, r.Reasons, r.Do = DoesNotWork, append(j.never, r.Reasons...), nil
		r.VNI, r.VXLANPort = 0, 0
	case r.changes() > 0:
		r.Fit = WorksIf
	default:
		r.Fit = Works
	}
	return r
}

func (j *judgement) because(source, format string, args ...any) {
	j.r.Reasons = append(j.r.Reasons, Reason{fmt.Sprintf(format, args...), source})
}

func (j *judgement) not(source, format string, args ...any) {
	j.never = append(j.never, Reason{fmt.Sprintf(format, args...), source})
}

// setUp is an action that belongs to the mode.
func (j *judgement) setUp(where Side, source, format string, args ...any) {
	j.r.Do = append(j.r.Do, Action{Where: where, Text: fmt.Sprintf(format, args...), Source: source})
}

// change is an action without which the mode does not work here.
func (j *judgement) change(where Side, source, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if where == LinuxSide && j.c.Linux.Fixed {
		j.not(source, "the Linux nodes would have to change, and cannot: %s", text)
		return
	}
	j.r.Do = append(j.r.Do, Action{Where: where, Text: text, Source: source, Change: true})
}

// replace asks for another network on the Linux nodes, unless theirs goes with
// the mode.
func (j *judgement) replace(source, by string) {
	if slices.Contains(j.linux.native, j.r.Mode) {
		if j.linux.network != LinuxAny {
			j.because(source, "goes with %s on the Linux nodes", j.linux.network)
		} else {
			j.setUp(LinuxSide, source, "use %s", by)
		}
		return
	}
	j.change(LinuxSide, source, "replace %s by %s, on all of them at once", j.linux.network, by)
}

// needs asks for a feature of HNS on all Windows nodes.
func (j *judgement) needs(f hns.Feature, what string) {
	var old []string
	for _, v := range j.c.Windows {
		if !f.In(v) && !slices.Contains(old, v.String()) {
			old = append(old, v.String())
		}
	}
	switch {
	case len(old) > 0:
		j.change(WindowsSide, hcsshimTable, "update those with HNS %s: %s needs %s (feature %s)", strings.Join(old, ", "), what, f.Windows, f.Name)
	case len(j.c.Windows) == 0:
		j.because(hcsshimTable, "%s needs %s (feature %s); the versions of the Windows nodes are not known", what, f.Windows, f.Name)
	}
}

const hcsshimTable = "hcsshim's feature table"
