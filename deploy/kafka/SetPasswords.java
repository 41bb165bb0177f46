import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;

/**
 * Sets the passwords of principals: connections that are open go on, later ones need the new one.
 *
 * <p>Run by Java itself with Kafka's jars: {@code java -cp "lib/*" SetPasswords.java CLIENT LIST},
 * where each line of LIST is {@code principal password}.
 */
final class SetPasswords {
    private static final int ITERATIONS = 8192;

    private SetPasswords() {}

    public static void main(String[] arguments) throws Exception {
        Properties client = new Properties();
        try (var file = Files.newBufferedReader(Path.of(arguments[0]))) {
            client.load(file);
        }
        List<UserScramCredentialAlteration> changes = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            String[] part = line.split(" ");
            ScramCredentialInfo how = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS);
            changes.add(new UserScramCredentialUpsertion(part[0], how, part[1]));
        }
        try (Admin admin = Admin.create(client)) {
            admin.alterUserScramCredentials(changes).all().get();
        }
    }
}
