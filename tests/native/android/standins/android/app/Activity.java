package android.app;

import android.content.Context;
import android.os.Bundle;
import android.view.View;
import java.io.File;
import java.util.HashMap;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Stand-in: makes the views that the layout file in the system property "layout" names. The resource class R, whose name
 * is in the property "resources", gives them their numbers.
 */
public class Activity extends Context {
  private final Map<Integer, View> views = new HashMap<>();

  protected void onCreate(Bundle state) {}

  protected void onDestroy() {}

  public void setContentView(int layout) {
    try {
      Class<?> ids = Class.forName(System.getProperty("resources") + "$id");
      NodeList elements = DocumentBuilderFactory.newInstance()
          .newDocumentBuilder()
          .parse(new File(System.getProperty("layout")))
          .getElementsByTagName("*");
      for (int i = 0; i < elements.getLength(); i++) {
        Element element = (Element) elements.item(i);
        Object view = Class.forName("android.widget." + element.getTagName())
            .getDeclaredConstructor()
            .newInstance();
        String id = element.getAttribute("android:id");
        if (!id.isEmpty()) {
          views.put(ids.getField(id.replace("@+id/", "")).getInt(null), (View) view);
        }
      }
    } catch (Exception broken) {
      throw new IllegalStateException(broken);
    }
  }

  @SuppressWarnings("unchecked") // as on Android: the caller names the class
  public <T extends View> T findViewById(int id) {
    return (T) views.get(id);
  }

  public void runOnUiThread(Runnable action) {
    action.run();
  }
}
