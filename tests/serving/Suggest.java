import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.codecs.PostingsFormat;
import org.apache.lucene.codecs.lucene87.Lucene87Codec;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.suggest.FileDictionary;
import org.apache.lucene.search.suggest.Lookup;
import org.apache.lucene.search.suggest.analyzing.AnalyzingSuggester;
import org.apache.lucene.search.suggest.document.Completion84PostingsFormat;
import org.apache.lucene.search.suggest.document.CompletionAnalyzer;
import org.apache.lucene.search.suggest.document.PrefixCompletionQuery;
import org.apache.lucene.search.suggest.document.SuggestField;
import org.apache.lucene.search.suggest.document.SuggestIndexSearcher;
import org.apache.lucene.search.suggest.document.TopSuggestDocs.SuggestScoreDoc;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * Reads an exported file with Lucene, set up as the engines set it up, and says what it suggests.
 *
 * <p>Arguments: the form, the file and how many. Each line of the input is a prefix, as JSON; so is each line of the
 * output, a list of queries, best first.
 */
public class Suggest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String FIELD = "completion";

    interface Suggester {
        List<String> suggest(String prefix, int count) throws IOException;
    }

    public static void main(String[] given) throws IOException {
        Path file = Path.of(given[1]);
        Suggester suggester = given[0].equals("solr") ? fileDictionary(file) : completionField(file);
        int count = Integer.parseInt(given[2]);
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (var out = new PrintStream(System.out, false, StandardCharsets.UTF_8)) {
            for (String line; (line = in.readLine()) != null; ) {
                String prefix = JSON.readValue(line, String.class);
                out.println(JSON.writeValueAsString(suggester.suggest(prefix, count)));
            }
        }
    }

    /** Solr: FileDictionaryFactory and AnalyzingLookupFactory on a field that keeps terms whole. */
    private static Suggester fileDictionary(Path file) throws IOException {
        var lookup = new AnalyzingSuggester(new ByteBuffersDirectory(), "suggest", new KeywordAnalyzer());
        lookup.build(new FileDictionary(Files.newBufferedReader(file)));
        return (prefix, count) -> {
            List<String> found = new ArrayList<>();
            for (Lookup.LookupResult one : lookup.lookup(prefix, false, count)) {
                found.add(one.payload.utf8ToString());
            }
            return found;
        };
    }

    /** Elasticsearch and OpenSearch: a field of the type "completion" with the analyzer "keyword". */
    private static Suggester completionField(Path bulk) throws IOException {
        Analyzer analyzer = new CompletionAnalyzer(new KeywordAnalyzer());
        var directory = new ByteBuffersDirectory();
        try (var writer = new IndexWriter(directory, settings(analyzer));
                BufferedReader lines = Files.newBufferedReader(bulk)) {
            for (String action; (action = lines.readLine()) != null; ) {
                JSON.readTree(action).required("index").required("_id");
                writer.addDocument(document(JSON.readTree(lines.readLine())));
            }
        }
        var searcher = new SuggestIndexSearcher(DirectoryReader.open(directory));
        return (prefix, count) -> {
            List<String> found = new ArrayList<>();
            var query = new PrefixCompletionQuery(analyzer, new Term(FIELD, prefix));
            for (SuggestScoreDoc one : searcher.suggest(query, count, false).scoreLookupDocs()) {
                found.add(searcher.doc(one.doc).get("query"));
            }
            return found;
        };
    }

    /** Several segments, as a server has them. */
    private static IndexWriterConfig settings(Analyzer analyzer) {
        var codec = new Lucene87Codec() {
            @Override
            public PostingsFormat getPostingsFormatForField(String field) {
                return new Completion84PostingsFormat();
            }
        };
        return new IndexWriterConfig(analyzer).setCodec(codec).setMaxBufferedDocs(1000);
    }

    private static Document document(JsonNode source) {
        var made = new Document();
        made.add(new StoredField("query", source.required("query").textValue()));
        int weight = source.required(FIELD).required("weight").intValue();
        for (JsonNode input : source.required(FIELD).required("input")) {
            made.add(new SuggestField(FIELD, input.textValue(), weight));
        }
        return made;
    }
}
