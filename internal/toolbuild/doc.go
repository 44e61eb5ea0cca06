// Package toolbuild builds the programs that tests need: the pinned tools of
// the module in .tools (host-local, a CNI client that behaves like containerd)
// and the packages of this module (the example plugins).
//
// Tools are built once and kept in a directory of the user's cache, named after
// everything that goes into the build, so a new pin or a new Go makes a new
// directory. Several test processes may ask at once: each builds into a
// directory of its own and the finished file is moved into place in one step.
// Old directories are not removed; delete hnskit/tools in the user's cache
// directory to reclaim the space.
//
// The go command must be on PATH, and the first build downloads modules.
package toolbuild
