// Package embedtest is an embedding server for tests. It listens on a real port of
// the loopback interface, so that another process can use it too, and answers
// like Ollama and like OpenAI on the same port, with the shapes and error
// texts of a real Ollama server:
//
//	s := embedtest.Start(t, embedtest.Model{Name: "nomic-embed-text", Dim: 64})
//	e, err := embedding.NewOllama(embedding.RemoteOptions{URL: s.URL()})
//	e, err = embedding.NewOpenAI(embedding.RemoteOptions{URL: s.URL() + "/v1"})
//
// Its vectors mean something: they are those of the built-in embedder, turned by a
// random matrix that stands for the model's weights, so cosines within a
// model are about kept and those between models are noise. [Server.Swap] gives a model other
// weights behind its name. [Server.Fail] makes requests fail in all the ways that servers do.
// [Server.Stop] and [Server.Restart] take the server away and bring it back at the same address.
//
// A vector takes 1 to 4 ms the first time and a fraction of that when the text was seen before.
package embedtest
