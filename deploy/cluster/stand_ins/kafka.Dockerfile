FROM localhost/python:stand-in
RUN groupadd --gid 1000 kafka && useradd --uid 1000 --gid 1000 --no-create-home kafka \
    && install -d -o kafka -g kafka /opt/kafka /opt/kafka/config /var/lib/kafka/data
COPY java /opt/java
COPY jars /opt/kafka/libs
COPY kafka-entrypoint.py /entrypoint.py
ENV PATH=/opt/java/bin:$PATH
USER 1000:1000
ENTRYPOINT ["python", "/entrypoint.py"]
