package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hnskit/hnskit/examples/nodeagent/agent"
)

// into makes a value's parser store what it reads.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		v, err := parse(text)
		if err == nil {
			*to = v
		}
		return err
	}
}

// appendTo is into for a flag that may be given several times.
func appendTo[T any](to *[]T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		v, err := parse(text)
		if err == nil {
			*to = append(*to, v)
		}
		return err
	}
}

// listOf reads a list with commas between, and blanks if you like.
func listOf[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(text string) ([]T, error) {
		var out []T
		for part := range strings.SplitSeq(text, ",") {
			v, err := parse(strings.TrimSpace(part))
			if err != nil {
				return nil, fmt.Errorf("%q: %w", part, err)
			}
			out = append(out, v)
		}
		return out, nil
	}
}

func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("not one of %s", strings.Join(words, ", "))
		}
		return text, nil
	}
}

func anyText(text string) (string, error) { return text, nil }

func parseText(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("empty")
	}
	return text, nil
}

func parseBool(text string) (bool, error) {
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("neither true nor false")
	}
	return v, nil
}

func parseInt(text string) (int, error) {
	v, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New("not a number")
	}
	return v, nil
}

// between is parseInt with bounds.
func between(low, high int) func(string) (int, error) {
	return func(text string) (int, error) {
		v, err := parseInt(text)
		if err == nil && (v < low || v > high) {
			err = fmt.Errorf("not from %d to %d", low, high)
		}
		return v, err
	}
}

func parsePort(text string) (uint16, error) {
	v, err := between(0, 65535)(text)
	return uint16(v), err
}

// parseVerbosity reads the level of klog. Its log levels are 4 apart for slog.
func parseVerbosity(text string) (int, error) { return between(0, 100)(text) }

func parseBatch(text string) (int, error) {
	v, err := parseInt(text)
	if err == nil && v == 0 {
		err = errors.New("0 would send nothing")
	}
	return v, err
}

func parseAddr(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return a, errors.New("not an address")
	case a.Zone() != "", a.IsUnspecified(), a.IsMulticast(), a.Is4In6():
		return a, errors.New("not the address of a host")
	}
	return a, nil
}

// parseIPv4 is for what the other nodes send to.
func parseIPv4(text string) (netip.Addr, error) {
	a, err := parseAddr(text)
	if err == nil && !a.Is4() {
		err = errors.New("not an IPv4 address, and flannel on Windows has no other between nodes")
	}
	return a, err
}

// parseAnnotationPrefix takes what a name of an annotation can begin with.
func parseAnnotationPrefix(text string) (string, error) {
	if text == "" || agent.CheckAnnotationPrefix(text) != nil {
		return "", errors.New("names of annotations cannot begin so; flannel.alpha.coreos.com and example.com/flannel are such beginnings")
	}
	return text, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return p, errors.New("not a prefix such as 10.96.0.0/12")
	case p != p.Masked():
		return p, fmt.Errorf("it has bits behind its length; %s is meant, perhaps", p.Masked())
	}
	return p, nil
}

func parseRegexp(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, errors.New("empty, which every adapter matches")
	}
	return regexp.Compile(text)
}

func parseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("not a URL such as https://192.0.2.1:6443")
	}
	return text, nil
}

// leastResync is the least time between two looks at everything, each of which
// costs some calls to HNS.
const leastResync = time.Second

func parseResync(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, errors.New("not a time such as 5m or 30s")
	case d < leastResync:
		return 0, fmt.Errorf("less than %s", leastResync)
	}
	return d, nil
}

func parseLevel(text string) (slog.Level, error) {
	switch text {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, errors.New("not one of debug, info, warn, error")
}
