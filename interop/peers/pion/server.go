package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/pion/sctp"
)

// server is the side that sends back what comes.
type server struct {
	*options
	association                    *sctp.Association
	lock                           sync.Mutex
	messages, bytes, ended, resets int
	failure                        error
}

func runServer(o *options) (int, error) {
	conn, err := listen(o)
	if err != nil {
		return exitNetwork, err
	}
	fmt.Println("MARK ready")
	association, err := sctp.Server(config(o, conn))
	if err != nil {
		return exitNetwork, err
	}
	s := &server{options: o, association: association}
	var readers sync.WaitGroup
	for {
		stream, err := association.AcceptStream()
		if err != nil {
			break
		}
		stream.SetReliabilityParams(o.unordered, sctp.ReliabilityTypeReliable, 0)
		readers.Add(1)
		go func() {
			defer readers.Done()
			s.echo(stream)
		}()
	}
	readers.Wait()
	clean := isClean(s.failure) && s.end != "abort"
	fmt.Printf("SERVED echoes=%d bytes=%d shutdown=%s resets=%d\n", s.messages, s.bytes, cleanOrNot(clean), s.resets)
	if !clean {
		if s.failure != nil {
			fmt.Println("communication lost:", s.failure)
		}
		return exitUnclean, s.failure
	}
	return exitOK, nil
}

// echo serves one stream until it or the association ends.
func (s *server) echo(stream *sctp.Stream) {
	buffer := make([]byte, largest)
	for {
		n, ppid, err := stream.ReadSCTP(buffer)
		if errors.Is(err, io.EOF) {
			s.note(func() { s.resets++ })
			_ = stream.Close() // the answer to a reset is a reset
			return
		}
		if err != nil {
			s.note(func() { s.failure = err })
			return
		}
		if _, err := stream.WriteSCTP(buffer[:n], ppid); err != nil {
			s.note(func() { s.failure = err })
			return
		}
		s.note(func() { s.messages++; s.bytes += n })
		if s.endAfter > 0 && s.messages == s.endAfter {
			go s.endNow()
		}
	}
}

func (s *server) endNow() {
	switch s.end {
	case "shutdown":
		if err := shutDown(s.association, s.options); err != nil {
			fmt.Println(err)
		}
	case "abort":
		settle(s.association, context.Background())
		s.association.Abort("as asked")
	}
}

func (s *server) note(what func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	what()
}
